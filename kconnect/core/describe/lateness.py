"""
How late a row may come to a source that asks for what is newer than the last: a transaction takes a number, or looks at the
clock, and others commit before it does.

Called by `cli/describe/connector_report.py`. The connectors' pages have the whole of it; read next: `advice.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

_DELAYS = {
    "incrementing": "incrementing.delay.interval.ms",
    "timestamp": "timestamp.delay.interval.ms",
    "timestamp+incrementing": "timestamp.delay.interval.ms",
}
_SQL = ("SqlSource", "SqlSourceConnector")
_JDBC = ("JdbcSource", "JdbcSourceConnector")
_HTTP = ("HttpSource", "HttpSourceConnector")


def of(config: Mapping[str, str | None]) -> str | None:
    """Return a sentence, for a connector's config; None for a connector of which it is not known, or that reads no such way."""
    name = (config.get("connector.class") or "").rpartition(".")[2]
    if name in _HTTP and config.get("since.path"):
        return "one that has an earlier time or number than what was read (since.path) is not read any more"
    mode = (config.get("mode") or "").strip().lower()
    if name not in (*_SQL, *_JDBC) or mode not in _DELAYS:
        return None
    what = "number" if mode == "incrementing" else "time"
    if name in _JDBC and mode == "incrementing":
        return f"one that is committed after another with a greater {what} is not read any more"
    setting = _DELAYS[mode]
    delay = (config.get(setting) or "0").strip()
    if not delay.isdecimal() or not int(delay):
        return f"one that is committed after another with a later {what} is not read any more: {setting} is {delay}"
    return f"one that is committed up to {int(delay) / 1000:g} s after another with a later {what} is read ({setting})"
