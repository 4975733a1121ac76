"""
The HTTP source in random histories: things that a service has, in pages of each kind, which grow and change while it has moods,
and tasks that are killed. Each thing is read in its last version, and no version twice that Kafka has taken.
"""

from __future__ import annotations

import datetime
import itertools
import urllib.parse
from typing import Any

from hypothesis import example, given, note
from hypothesis import strategies as st

from kconnect.api import ConnectError, RetriableError, SourceRecord
from kconnect.connectors.http.source import HttpSourceConnector
from kconnect.testing import SourceRunner
from tests.connectors.truth.budget import histories
from tests.connectors.truth.engine import Step
from tests.connectors.truth.moody_service import AUTHORITY, PASSING, MoodyService
from tests.connectors.truth.outages import link_to, mend
from tests.rig.systems.proxy import Link, Proxy

PAGES = ("offset", "page", "cursor", "address", "link", "since time", "since number", "since link")
SIZE, RETRIES = 3, 25
FORMS = ("{:%Y-%m-%dT%H:%M:%SZ}", "{:%Y-%m-%dT%H:%M:%S.%fZ}", "{:%Y-%m-%d %H:%M:%S.%f}", "{:%Y-%m-%dT%H:%M:%S.%f+00:00}")
EAST = datetime.timezone(datetime.timedelta(hours=2))

# An answer with nothing, or without content, is a page like others: it ends a round, and the next one begins anew.
moods = st.lists(st.sampled_from(("well", "well", "slow", "nothing", "no content", *PASSING)), max_size=8)
steps: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 7)),
        st.tuples(st.sampled_from(("add equal", "add half a second", "add abroad"))),
        st.tuples(st.just("change"), st.integers(0, 30)),
        st.tuples(st.just("moods"), moods),
        st.tuples(st.sampled_from(("burst", "outage")), st.integers(1, 40)),
        st.tuples(st.sampled_from(("poll", "lose")), st.integers(1, 4)),
        st.tuples(st.sampled_from(("kill", "restart"))),
    ),
    min_size=3,
    max_size=20,
)


class Play:
    """`things` are ids with a version and a stamp; a stamp grows with each change, by a second, half of one, or not at all."""

    def __init__(self, service: MoodyService, pages: str, link: Proxy | None) -> None:
        self.pages, self.service, self.link = pages, service, link
        url = service.url if link is None else f"http://127.0.0.1:{link.port}"
        self.trouble = 0
        """How many polls, at most, the service is away or broken."""
        self.service.answer = self._answer
        self.things: dict[int, dict[str, Any]] = {}
        self._serial = itertools.count(1)
        self._half_seconds = 0
        self._forms = itertools.cycle(FORMS)
        self.taken: list[tuple[int, int]] = []
        self.since = pages.startswith("since")
        config = {
            "name": "h",
            "kafka.topic": "t",
            "http.api.url": f"{url}/items?{self._query()}",
            "request.interval.ms": "0",
            "retry.backoff.ms": "0",
            "max.retries": str(RETRIES),
            "ssl.ca.location": AUTHORITY,
            "records.path": "data",
            **self._settings(),
        }
        self.source = SourceRunner(HttpSourceConnector, config)
        self.source.start()

    def _query(self) -> str:
        return {
            "offset": "from=${offset}&size=${size}",
            "page": "page=${page}",
            "cursor": "after=${cursor}",
            "since time": "since=${since}",
            "since number": "since=${since}",
            "since link": "since=${since}",
        }.get(self.pages, "x=1")

    def _settings(self) -> dict[str, str]:
        since = {"since.path": "stamp", "since.first": ""} if self.since else {}
        mode = {"since time": "none", "since number": "none", "since link": "link", "address": "cursor"}.get(
            self.pages, self.pages
        )
        cursor = {"page.cursor.path": "next"} if mode == "cursor" else {}
        return {"page.mode": mode, "page.size": str(SIZE), **since, **cursor}

    def _answer(self, path: str) -> tuple[dict[str, str], Any]:
        """All that there is, in the order of ids; with `since` what is as new or newer, in the order of stamps."""
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(path).query, keep_blank_values=True))
        rows = sorted(self.things.values(), key=lambda row: (row["order"] if self.since else 0, row["id"]))
        if self.since and asked.get("since"):
            at = next((row["order"] for row in rows if str(row["stamp"]) == asked["since"]), -1)
            rows = [row for row in rows if row["order"] >= at]
        if self.pages == "since link" and asked.get("after"):
            # What has changed since a page was asked for has moved behind the others.
            order, id = map(int, asked.pop("after").split("-"))
            rows = [row for row in rows if (row["order"], row["id"]) > (order, id)]
        last = next((f"{row['order']}-{row['id']}" for row in rows[SIZE - 1 : SIZE]), "")
        rows = [{name: value for name, value in row.items() if name != "order"} for row in rows]
        first = int(asked.get("from") or asked.get("after") or 0)
        first = (int(asked["page"]) - 1) * SIZE if self.pages == "page" else first
        if self.pages in ("since time", "since number"):
            return {}, {"data": rows}
        page, following = rows[first : first + SIZE], str(first + SIZE) if first + SIZE < len(rows) else None
        headers = {}
        answer: dict[str, Any] = {"data": page, "next": following}
        if self.pages == "address" and following:
            answer["next"] = f"/items?x=1&after={following}"
        if self.pages in ("link", "since link") and following:
            since = urllib.parse.quote(asked.get("since", ""))
            following = last if self.since else following
            headers["Link"] = f'</items?x=1&since={since}&after={following}>; rel="next"'
        return headers, answer

    def _stamp(self, half_seconds: int, abroad: bool = False) -> tuple[Any, int]:
        self._half_seconds += half_seconds
        if self.pages == "since number":
            return self._half_seconds, self._half_seconds
        moment = datetime.datetime(2024, 2, 29, 23, 59, 50, tzinfo=datetime.timezone.utc)
        moment += datetime.timedelta(seconds=self._half_seconds / 2)
        if abroad:
            return moment.astimezone(EAST).isoformat(), self._half_seconds
        form = FORMS[1] if moment.microsecond else next(self._forms)
        return form.format(moment), self._half_seconds

    def play(self, step: Step) -> None:
        name, *arguments = step
        if name == "add":
            for _ in range(arguments[0]):
                self._put(len(self.things), 2)
        elif name in ("add equal", "add half a second", "add abroad"):
            self._put(len(self.things), {"add equal": 0, "add half a second": 1}.get(name, 2), abroad=name == "add abroad")
        elif name == "change":
            # Without a `since` all of it comes each time.
            if arguments[0] in self.things and self.since:
                self._put(arguments[0], 2)
        elif name == "moods":
            self.service.moods.extend(arguments[0])
        elif name == "burst":
            self.service.moods.extend(["broken"] * arguments[0])
            self.trouble += arguments[0]
        elif name == "outage":
            self._outage(arguments[0])
        elif name == "poll":
            self._poll(arguments[0])
        elif name == "lose":
            for _ in range(arguments[0]):
                self._polled(acknowledge=False)
            self.source.restart(crash=True)
        else:
            self.source.restart(crash=name == "kill")

    def _put(self, id: int, half_seconds: int, abroad: bool = False) -> None:
        stamp, order = self._stamp(half_seconds, abroad)
        self.things[id] = {"id": id, "version": next(self._serial), "stamp": stamp, "order": order}

    def _poll(self, count: int) -> None:
        for _ in range(count):
            self.taken += [(record.value["id"], record.value["version"]) for record in self._polled()]

    def _outage(self, polls: int) -> None:
        """The service can't be reached for so many polls."""
        if self.link is None:
            return
        self.link.set(Link.CUT)
        self.trouble += polls
        self._poll(polls)
        mend(self.link)

    def _polled(self, acknowledge: bool = True) -> list[SourceRecord]:
        try:
            return self.source.poll(acknowledge)
        except RetriableError as error:
            # A service that has nothing, whatever its answer is like, is in no trouble.
            is_away = self.link is not None and self.link.link is Link.CUT
            assert is_away or self.service.asked[-1][0] in PASSING, f"{self.service.asked[-1]} was no answer: {error}"
            return []
        except ConnectError as error:
            assert self.trouble + len(PASSING) > RETRIES, error
            # As a user does.
            self.source.restart()
            return []

    def check(self) -> None:
        self.service.moods.clear()
        # What a round has left of its pages, and then a whole one.
        self._poll(2 * (len(self.things) // SIZE + 2))
        last = {id: thing["version"] for id, thing in self.things.items()}
        missing = {id: version for id, version in last.items() if (id, version) not in self.taken}
        assert not missing, f"{missing} were not read, but {self.taken}"
        if self.since:
            twice = [each for each in set(self.taken) if self.taken.count(each) > 1]
            assert not twice, f"{twice} were read more than once"


@histories(20)
@given(pages=st.sampled_from(PAGES), history=steps)
@example(pages="since time", history=[("add", 1), ("poll", 1), ("add half a second",), ("poll", 1), ("add equal",), ("kill",)])
@example(pages="since time", history=[("add", 1), ("poll", 1), ("add abroad",), ("poll", 1)])
@example(pages="since number", history=[("add", 4), ("poll", 1), ("add equal",), ("lose", 1)])
@example(pages="since number", history=[("add", 2), ("moods", ["no content", "nothing"]), ("poll", 4)])
@example(pages="since link", history=[("add", 7), ("poll", 1), ("outage", 27), ("poll", 1), ("burst", 30), ("change", 1)])
def test_each_thing_is_read_in_its_last_version(pages: str, history: list[Step]) -> None:
    note(f"pages={pages!r}, history={history!r}")
    service = MoodyService()
    try:
        with link_to(service.port, history) as link:
            play = Play(service, pages, link)
            try:
                for step in history:
                    play.play(step)
                play.check()
            finally:
                play.source.stop()
    finally:
        service.end()
