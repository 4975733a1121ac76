"""What the log says of an error of Spark's."""

from __future__ import annotations

import pytest

from kconnect.spark.errors import reason


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.\n"
            ": org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 7.0 failed 8 times, "
            'most recent failure: java.io.IOException: Cannot run program "/no/python": error=2\n\tat java.base/a.b(C.java:1)',
            "Job aborted due to stage failure: Task 0 in stage 7.0 failed 8 times, "
            'most recent failure: java.io.IOException: Cannot run program "/no/python": error=2',
        ),
        (
            "An error occurred while calling None.x.SparkSession.\n: java.lang.IllegalStateException: It has stopped.\n",
            "IllegalStateException: It has stopped.",
        ),
        (
            "An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.\n"
            ": org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 8 times, most "
            "recent failure: Lost task 0.7 in stage 0.0 (TID 7) (127.0.0.1 executor 0): org.apache.spark.SparkException: \n"
            "Error from python worker:\n"
            "  /usr/bin/python3: Error while finding module specification for 'kconnect.spark.daemon' (ModuleNotFoundError: "
            "No module named 'kconnect')\n"
            "PYTHONPATH was:\n  /a/pyspark.zip\norg.apache.spark.SparkException: EOFException\n\tat a.b(C.scala:1)",
            "an executor's Python ended at once: /usr/bin/python3: Error while finding module specification for "
            "'kconnect.spark.daemon' (ModuleNotFoundError: No module named 'kconnect'). Each machine needs this worker's "
            "Python, with kconnect, at the same path, or spark.pyspark.python names it",
        ),
        ("Error from python worker:\nPYTHONPATH was:\n", "Error from python worker"),
        ("plain", "plain"),
        ("", "ValueError('')"),
    ],
)
def test_the_line_that_says_what_went_wrong(text: str, expected: str) -> None:
    assert reason(ValueError(text)) == expected
