"""Times as users write them: `2026-01-31T12:00:00Z`, or back from now, `-2h`. Read by `offsets rewind`."""

from __future__ import annotations

import datetime
import re

import click

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_AGO = re.compile(r"-(?:\d+[smhdw])+")
_PART = re.compile(r"(\d+)([smhdw])")
_RULE = (
    "write a time such as 2026-01-31T12:00:00Z (UTC, unless it ends with a zone such as +01:00), or how long ago, such as -2h "
    "or -1d12h"
)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def parse(text: str, now: datetime.datetime) -> datetime.datetime:
    """
    Parse a moment. As kafka-consumer-groups does, take a time without a zone for UTC. Raise ValueError with the rule and the
    remedy.
    """
    text = text.strip()
    try:
        if _AGO.fullmatch(text):
            back = {_UNITS[unit]: 0 for unit in _UNITS}
            for number, unit in _PART.findall(text):
                back[_UNITS[unit]] += int(number)
            return now - datetime.timedelta(**back)
        # Python 3.10 knows neither Z nor fractions of other lengths than 3 and 6.
        plain = re.sub(r"[zZ]$", "+00:00", text)
        plain = re.sub(r"\.(\d+)", lambda match: f".{match[1][:6]:0<6}", plain)
        moment = datetime.datetime.fromisoformat(plain)
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is not a time: {_RULE}") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=datetime.timezone.utc)


def milliseconds(moment: datetime.datetime) -> int:
    """Since 1970, rounded up: a record of the millisecond before is older."""
    return -((_EPOCH - moment) // datetime.timedelta(milliseconds=1))


def shown(moment: datetime.datetime) -> str:
    text = moment.astimezone(datetime.timezone.utc).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z").replace(".000Z", "Z")


class Moment(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions only
    name = "TIME"

    def convert(
        self, value: str | datetime.datetime, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime.datetime:
        if isinstance(value, datetime.datetime):
            return value
        try:
            return parse(value, datetime.datetime.now(datetime.timezone.utc))
        except ValueError as error:
            self.fail(str(error), param, ctx)
