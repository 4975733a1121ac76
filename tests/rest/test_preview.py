"""What `POST /kconnect/preview` takes. What it does: `tests/integration/test_preview_rest.py`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kconnect.errors import BadRequestError
from kconnect.rest import bodies

CONFIG = {"connector.class": "FileStreamSink"}


def parsed(**body: Any) -> Any:
    return bodies.preview(json.dumps(body).encode())


def test_what_is_asked_for() -> None:
    config, records, sample = parsed(config={**CONFIG, "tasks.max": 2, "none": None}, records=[{"topic": "t", "value": 1.5}])
    assert config == {**CONFIG, "tasks.max": "2"}
    assert records == ({"topic": "t", "value": 1.5},)
    assert sample == {}
    _, records, sample = parsed(config=CONFIG, topic="t")
    assert records is None
    assert sample == {"topic": "t", "limit": 5, "partition": None, "offset": None, "newest": False}
    _, _, sample = parsed(config=CONFIG, topic="t", limit=7, partition=0, offset=3)
    assert sample == {"topic": "t", "limit": 7, "partition": 0, "offset": 3, "newest": False}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"config": CONFIG, "records": [], "topic": "t"}, "Either 'records' or 'topic'"),
        ({"config": CONFIG}, "Either 'records' or 'topic'"),
        ({"records": []}, "'config' is not an object"),
        ({"config": {}, "records": []}, "no 'connector.class'"),
        ({"config": CONFIG, "records": {}}, "must be a list"),
        ({"config": CONFIG, "topic": 7}, "'topic' must be a text"),
        ({"config": CONFIG, "topic": "t", "newest": 1}, "'newest' true or false"),
        ({"config": CONFIG, "topic": "t", "limit": True}, "'limit' must be a whole number from 1 to 100"),
        ({"config": CONFIG, "topic": "t", "limit": 101}, "'limit' must be a whole number from 1 to 100"),
        ({"config": CONFIG, "topic": "t", "partition": -1}, "'partition' must be a whole number"),
        ({"config": CONFIG, "topic": "t", "partition": 0, "offset": 1, "newest": True}, "goes without 'newest'"),
        ({"config": CONFIG, "topic": "t", "x": 1}, "Unknown property 'x'"),
    ],
)
def test_what_is_refused(body: dict[str, Any], text: str) -> None:
    with pytest.raises(BadRequestError, match=text):
        parsed(**body)
