"""Letters as Kafka Connect 4.3.1 and kconnect write them, for the tests beside this."""

from __future__ import annotations

from typing import Any

from kconnect.core.task.letter_headers import CONTEXT
from kconnect.dlq.letters import Letter

JAVA_TRACE = """org.apache.kafka.connect.errors.DataException: Converting byte[] failed due to serialization error:
\tat org.apache.kafka.connect.json.JsonConverter.toConnectData(JsonConverter.java:333)
\tat org.apache.kafka.connect.storage.Converter.toConnectData(Converter.java:90)
Caused by: org.apache.kafka.common.errors.SerializationException: com.fasterxml.jackson.core.JsonParseException
 at [Source: (byte[])"poison"; line: 1, column: 8]
Caused by: com.fasterxml.jackson.core.JsonParseException: Unrecognized token 'poison': was expecting (JSON String, ...)
\tat com.fasterxml.jackson.core.JsonParser._constructError(JsonParser.java:2477)
\t... 17 more
"""

PYTHON_TRACE = """Traceback (most recent call last):
  File "/x/json.py", line 7, in loads
    return fast(data)
           ^^^^^^^^^^
json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)
and a second line

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/x/chain.py", line 1, in apply
kconnect.errors.DataError: Converting byte[] to Kafka Connect data failed due to serialization error
"""


def letter(offset: int = 0, partition: int = 0, headers: tuple[tuple[str, bytes | None], ...] = (), **given: Any) -> Letter:
    """With Connect's headers for what is given by their names, `_` for a dot; `None` leaves one out."""
    context = {
        "topic": "orders",
        "partition": "2",
        "offset": "17",
        "connector.name": "sink",
        "task.id": "0",
        "stage": "VALUE_CONVERTER",
        "class.name": "org.apache.kafka.connect.json.JsonConverter",
        "exception.class.name": "org.apache.kafka.connect.errors.DataException",
        "exception.message": "Converting byte[] failed",
        "exception.stacktrace": JAVA_TRACE,
    }
    own: dict[str, Any] = {"timestamp": 1000, "key": b"k", "value": b"poison"}
    own |= {name: given.pop(name) for name in list(given) if name in own}
    context |= {name.replace("_", "."): text for name, text in given.items()}
    told = tuple((CONTEXT + name, text.encode()) for name, text in context.items() if text is not None)
    return Letter("orders-dead", partition, offset, own["timestamp"], own["key"], own["value"], (*headers, *told))


def bare(offset: int = 0, **given: Any) -> Letter:
    """Without context headers."""
    return Letter("orders-dead", 0, offset, given.get("timestamp", 1000), b"k", b"poison", given.get("headers", ()))
