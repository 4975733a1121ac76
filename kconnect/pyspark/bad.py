"""
Bad records of a frame with `mode=keep`: left out, and counted by Spark's own observed metrics.

Called by notebooks. Tasks of a Python source can give the driver nothing but rows, accumulators included. So what `mode=drop`
leaves out stands in the logs of executors only, and who wants to see a count keeps the bad records up to here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation

BAD = "_bad"


def drop_bad(frame: DataFrame, observation: Observation | str = "bad_records") -> DataFrame:
    """
    Return the good records of a frame or stream that was read with `mode=keep`, without `_bad`, and have Spark count the bad.

    The metrics are `dropped`, how many there were, and `error`, why one of them is bad, or null. A query of a stream has them
    for each batch in `query.lastProgress.observedMetrics`, by the name `observation`. For a batch, give an `Observation`, whose
    `get` has them once an action has run. A `limit` behind it may end the read before all records were counted.

    Raises:
        ValueError: the frame has no column `_bad`
    """
    from pyspark.sql import functions

    if BAD not in frame.columns:
        raise ValueError("The frame has no column _bad: read it with the option mode=keep")
    metrics = (functions.count(BAD).alias("dropped"), functions.min(f"{BAD}.error").alias("error"))
    return frame.observe(observation, *metrics).filter(functions.col(BAD).isNull()).drop(BAD)
