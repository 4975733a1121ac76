"""Where a Spark master is, and whether it takes connections."""

from __future__ import annotations

import socket

import pytest

from kconnect.spark import masters


@pytest.mark.parametrize(
    ("master", "places"),
    [
        ("local[4]", []),
        ("yarn", []),
        ("spark://a:7078,b", [("a", 7078), ("b", 7077)]),
        ("spark://[::1]:7077", [("::1", 7077)]),
        ("k8s://https://api.example.com:6443", [("api.example.com", 6443)]),
        ("k8s://api.example.com", [("api.example.com", 443)]),
    ],
)
def test_where_a_master_is(master: str, places: list[tuple[str, int]]) -> None:
    assert masters.places({"spark.master": master}) == places


def test_one_master_of_several_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert masters.absent({"spark.master": f"spark://127.0.0.1:1,127.0.0.1:{port}"}) is None
    reason = masters.absent({"spark.master": f"spark://127.0.0.1:1,127.0.0.1:{port}"})
    assert reason is not None and "takes no connections (Connection refused)" in reason


@pytest.mark.parametrize("settings", [{}, {"spark.master": "local[2]"}, {"spark.master": "yarn"}])
def test_elsewhere_nobody_is_asked(settings: dict[str, str]) -> None:
    assert masters.absent(settings) is None


def test_a_port_that_there_cannot_be() -> None:
    assert masters.absent({"spark.master": "spark://127.0.0.1:99999"}) is not None
