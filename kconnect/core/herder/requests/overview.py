"""
All connectors at a glance, and then what changes. Made by `rest/own.py`. Read next: `core/herder/overview.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from kconnect.core.herder import effects
from kconnect.core.herder.effects import Body
from kconnect.core.herder.overview import EVERY_MS
from kconnect.core.herder.procedures import Procedure, ask
from kconnect.core.herder.request import Office, Request


@dataclass(frozen=True, slots=True)
class GetOverview(Request[Body]):
    """`GET /kconnect/overview`: with `since`, once something has changed, or after `wait_ms`."""

    since: str | None = None
    """What the answer before said in `at`. One of another worker, or of an earlier life of this one, is as good as none."""
    wait_ms: int = 0

    def answer(self, office: Office) -> Procedure[Body]:
        desk, overview = office.desk, office.overview
        life = desk.identity.incarnation
        asked, _, number = (self.since or "").rpartition("-")
        is_number = number.isascii() and number.isdigit() and len(number) < 19
        version = int(number) if asked == life and is_number else None
        ends_at = desk.now + self.wait_ms
        while True:
            if overview.is_old:
                overview.look((yield from ask(effects.ReadReports())))
            if version != overview.version or desk.now >= ends_at or desk.leaving:
                whole, rows, deleted = overview.since(version)
                return {"at": f"{life}-{overview.version}", "whole": whole, "connectors": rows, "deleted": deleted}
            yield desk.pause(EVERY_MS)
