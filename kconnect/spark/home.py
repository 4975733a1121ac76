"""
Which Spark a driver runs: the one of `SPARK_HOME`, else PySpark's own, and none that lies about.

Called by `session.py` before Spark is started. PySpark would look beside the current directory first, for
`../bin/spark-submit`: whoever may write there would have a program of theirs run as the worker's user. Read next: `session.py`.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import MutableMapping
from pathlib import Path


def name_it(environ: MutableMapping[str, str]) -> None:
    """Set `SPARK_HOME` for PySpark and all that it starts, if the operator has not done so."""
    if environ.get("SPARK_HOME"):
        return
    directory = _of_pyspark()
    if directory is not None:
        environ["SPARK_HOME"] = str(directory)


def _of_pyspark() -> Path | None:
    """The Spark that the package brings or has downloaded, or whose part it is; None leaves PySpark to say what is wrong."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        return None
    package = Path(os.path.abspath(spec.origin)).parent
    for place in (package / "spark-distribution", package, package.parent.parent):
        if (place / "bin" / "spark-submit").is_file() and ((place / "jars").is_dir() or (place / "assembly").is_dir()):
            return place
    return None
