"""SimpleDateFormat against what Java 17's did with the same patterns, moments and texts."""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.java import dates
from tests.golden import envelopes

CASES = envelopes.load("simple_date_format.jsonl")


@pytest.mark.parametrize("case", envelopes.as_params(CASES))
def test_golden(case: dict[str, Any]) -> None:
    error = case["error"]
    if error is not None and error["phase"] == "compile":
        with pytest.raises(ValueError) as illegal:
            dates.compile(case["pattern"])
        assert str(illegal.value) == error["message"]
    elif case["kind"] == "format":
        assert dates.compile(case["pattern"]).format(case["millis"]) == case["text"]
    elif error is None:
        assert dates.compile(case["pattern"]).parse_prefix(case["text"]) == (case["millis"], case["parsed_chars"])
    else:
        with pytest.raises(dates.ParseError) as raised:
            dates.compile(case["pattern"]).parse(case["text"])
        assert str(raised.value) == error["message"]
