"""StringConverter, beyond the golden cases."""

from __future__ import annotations

import pytest

from kconnect.converters.string import StringConverter
from kconnect.data import schema as s
from kconnect.errors import ConfigError


def converter(encoding: str) -> StringConverter:
    made = StringConverter()
    made.configure({"converter.encoding": encoding}, True)
    return made


def test_text_in_an_encoding() -> None:
    made = converter("ISO-8859-1")
    assert made.from_connect_data("t", None, "é") == b"\xe9"
    assert made.to_connect_data("t", b"\xe9") == (s.OPTIONAL_STRING_SCHEMA, "é")
    assert made.from_connect_data("t", None, {"a": 1.5, "b": None}) == b"{a=1.5, b=null}"
    assert made.from_connect_data("t", None, None) is None


def test_the_schema_tells_a_narrow_float() -> None:
    assert StringConverter().from_connect_data("t", s.FLOAT32_SCHEMA, 1.100000023841858) == b"1.1"


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16", "UTF-16LE", "UTF-32"])
def test_text_comes_back(encoding: str) -> None:
    made = converter(encoding)
    data = made.from_connect_data("t", None, "aé€😀")
    assert made.to_connect_data("t", data).value == "aé€😀"


def test_a_mark_tells_the_order_of_bytes() -> None:
    assert converter("UTF-16").to_connect_data("t", b"\xff\xfea\x00").value == "a"


@pytest.mark.parametrize("encoding", ["no-such", "rot13", "base64", "a\0b"])
def test_an_encoding_that_is_none_is_refused_at_once(encoding: str) -> None:
    with pytest.raises(ConfigError, match=r"^Unsupported encoding "):
        converter(encoding)


@pytest.mark.parametrize(
    ("encoding", "data", "text"),
    [
        ("UTF-8", b"a\xed\xa0\x80b", "a\ufffdb"),
        ("UTF-8", b"\xed\xa0\xbd\xed\xb8\x80", "\ufffd\ufffd"),
        ("UTF-8", b"\xed\xa0A\xed\xa0", "\ufffdA\ufffd"),
        ("UTF-8", b"\xc0\x80\xf5\x80", "\ufffd" * 4),
        ("UTF-16LE", b"\x00\xd8a\x00b\x00", "\ufffdb"),
        ("UTF-16BE", b"\xd8\x00\x00a\x00b", "\ufffdb"),
        ("UTF-16", b"", ""),
        ("UTF-32", b"\x00\x00\xd8\x00\xff", "\ud800\ufffd"),
        ("UTF-32BE", b"\x00\x00\xfe\xff\x00\x00\x00a", "a"),
    ],
)
def test_bytes_that_are_no_text_are_read_as_java_reads_them(encoding: str, data: bytes, text: str) -> None:
    made = converter(encoding)
    assert made.to_connect_data("t", data).value == text
    together = made.to_connect_all("t", [data, data])
    assert together is None or together.values == [text, text]


@pytest.mark.parametrize(
    ("encoding", "text", "data"),
    [
        ("UTF-16", "", b""),
        ("UTF-16", "\ud800", b"\xfe\xff\xff\xfd"),
        ("UTF-16LE", "a\udc00", b"a\x00\xfd\xff"),
        ("UTF-32", "\ud800", b"\x00\x00\xff\xfd"),
        ("UTF-8", "\ud800", b"?"),
    ],
)
def test_texts_are_written_as_java_writes_them(encoding: str, text: str, data: bytes) -> None:
    assert converter(encoding).from_connect_data("t", None, text) == data
