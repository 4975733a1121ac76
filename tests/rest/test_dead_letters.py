"""What a replay takes by REST. What it does: `tests/integration/test_dead_letters_rest.py`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kconnect.errors import BadRequestError
from kconnect.rest import bodies

LETTER = {"partition": 0, "offset": 7}


def test_what_is_asked_for() -> None:
    body = {"letters": [LETTER, {"partition": 1, "offset": 2}], "through_chain": True, "to_topic": "t"}
    found = bodies.replay(json.dumps(body).encode())
    assert found.pop("letters") == [[0, 7], [1, 2]]
    assert found == {"through_chain": True, "again": False, "dry_run": False, "to_topic": "t"}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({}, "'letters' must be a list of at least one"),
        ({"letters": []}, "'letters' must be a list of at least one"),
        ({"letters": [LETTER] * 501}, "at most 500"),
        ({"letters": [7]}, "must have a partition and an offset"),
        ({"letters": [{"partition": 0}]}, "must have a partition and an offset"),
        ({"letters": [{"partition": 0, "offset": "7"}]}, "'offset' must be a whole number"),
        ({"letters": [{"partition": -1, "offset": 7}]}, "'partition' must be a whole number"),
        ({"letters": [LETTER], "again": "yes"}, "'again' must be true or false"),
        ({"letters": [LETTER], "to_topic": ""}, "'to_topic' must be a topic's name"),
        ({"letters": [LETTER], "all": True}, "Unknown property 'all'"),
        ([], "not a JSON object"),
    ],
)
def test_what_is_refused(body: Any, text: str) -> None:
    with pytest.raises(BadRequestError, match=text):
        bodies.replay(json.dumps(body).encode())
