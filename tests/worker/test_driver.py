"""What is said of a Spark driver that has ended."""

from __future__ import annotations

from kconnect.worker.driver import last_words


def test_the_last_words_are_those_at_the_end() -> None:
    warning, cause, end = f"WARNING {'long ' * 80}", "SparkException: Master must start with spark", "ERROR Spark did not start"
    assert last_words([warning, cause, end]) == f"{cause} / {end}"
    assert last_words([cause, end]) == f"{cause} / {end}"
    # Of one line there is always as much as there is room for.
    assert last_words(["x" * 1000]) == "x" * 1000
    assert last_words([]) == ""
