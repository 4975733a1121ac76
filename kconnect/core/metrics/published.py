"""
What plugins publish themselves, by JMX or as metrics of their own (KIP-877), under the names that dashboards expect.

`jvm/beans.py` names what it has read; `report.py` takes it to the worker, and `families.py` to `/metrics`. The names are those
that Prometheus' JMX exporter gives with the rules that Debezium and Strimzi publish, or else without rules. Counters are not
known as such, so none of these has a kind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from kconnect.core.task.numbers import Labels

OF_TASKS = "kafka_connect_plugins"
"""How the names of numbers begin that plugins make by KIP-877, or Python tasks by `context.metric`."""

_PROPERTY = re.compile(r'([^,=]+)=("(?:[^"\\]|\\.)*"|[^,]*)(?:,|$)')
_QUOTED = re.compile(r"\\(.)")
_NO_NAME = re.compile(r"[^a-zA-Z0-9_]+")
_CLIENTS = ("kafka.producer", "kafka.consumer", "kafka.admin.client", "kafka.connect")
_DEBEZIUM = "debezium."
_OF_DEBEZIUM = {"server": "name", "key": "table"}
"""Its published rules call them so."""


class Published(NamedTuple):
    """Numbers with the same labels: `values` by the end of their names, which begin with `prefix`. Unknown ones are None."""

    prefix: str
    labels: Labels
    values: Mapping[str, float | None]


def of_bean(name: str, values: Mapping[str, float | None], key: str = "") -> Published:
    """
    Return the numbers of a JMX bean as a metric; `key` is that of a row, if they are of a table. The attribute's name is the
    end of the metric's.
    """
    domain, _, rest = name.partition(":")
    properties = {
        attribute: _QUOTED.sub(r"\1", text[1:-1]) if text[:1] == '"' else text for attribute, text in _PROPERTY.findall(rest)
    }
    if key:
        properties["key"] = key
    if domain.startswith(_DEBEZIUM) and properties.get("type") == "connector-metrics":
        del properties["type"]
        labels = {
            "plugin": domain[len(_DEBEZIUM) :],
            **{_OF_DEBEZIUM.get(attribute, attribute): text for attribute, text in properties.items()},
        }
        return Published("debezium_metrics", _labels(labels), {_end(attribute): number for attribute, number in values.items()})
    first = properties.pop(next(iter(properties)), "") if properties else ""
    if domain in _CLIENTS and first.endswith("-metrics"):
        # Of a Kafka client: Strimzi's rules leave out what the group says again.
        prefix, labels = (
            f"kafka_{first.removesuffix('-metrics')}",
            {attribute.replace("-", ""): text for attribute, text in properties.items()},
        )
    else:
        prefix, labels = f"{domain}_{first}" if first else domain, properties
    return Published(
        _name(prefix).lower().rstrip("_"),
        _labels({attribute.lower(): text for attribute, text in labels.items()}),
        {_end(attribute).lower(): number for attribute, number in values.items()},
    )


def _name(text: str) -> str:
    """Replace each run of characters that no name may have by `_`, as the exporter does."""
    return re.sub(r"^(?=\d)", "_", _NO_NAME.sub("_", text))


def _end(attribute: str) -> str:
    return _NO_NAME.sub("_", attribute).lstrip("_")


def _labels(texts: Mapping[str, str]) -> Labels:
    return tuple((_name(label), text) for label, text in texts.items())
