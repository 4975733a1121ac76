"""
The Iceberg sink in random histories with catalogs and stores that are away: over HTTP requests and answers are lost, or another
writer is quicker; a catalog in PostgreSQL is cut off in the middle of a commit, or before it can say that it has made one.

Each record is in the table once, or reported; with upserts of each key the last one; and what others have written stays.
"""

from __future__ import annotations

import itertools
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import pyarrow as pa
import pytest
import sqlalchemy as sa
from hypothesis import example, given, note
from hypothesis import strategies as st

from kconnect.connectors.iceberg.task import IcebergSinkTask
from kconnect.connectors.lake import pending
from kconnect.testing import SinkRunner
from tests.connectors.iceberg.test_iceberg_sink import Lake
from tests.connectors.truth import test_iceberg
from tests.connectors.truth.budget import histories
from tests.connectors.truth.engine import Step
from tests.connectors.truth.moody_proxy import MOODS, OTHERS, MoodyProxy
from tests.connectors.truth.outages import link_to, mend
from tests.rig.systems import s3
from tests.rig.systems.iceberg_rest import IcebergRest
from tests.rig.systems.postgres import Postgres
from tests.rig.systems.proxy import Link, Proxy
from tests.support import starts

_TRIES = 300
"""How often a task tries again: more often than a history has trouble."""
_LOST_S = 0.05
_numbers = itertools.count(1)

_common = (
    st.tuples(st.just("produce"), st.integers(0, 2), st.lists(st.sampled_from(test_iceberg.KINDS), min_size=1, max_size=15)),
    st.tuples(st.just("put"), st.integers(0, 1), st.sampled_from((3, 500))),
    st.tuples(st.sampled_from(("commit", "go_back", "kill", "restart", "abandon")), st.integers(0, 1)),
    st.tuples(st.just("move"), st.integers(0, 2), st.integers(0, 1)),
    st.tuples(st.sampled_from(("stir",))),
)


def moody(*moods: str) -> st.SearchStrategy[list[Step]]:
    drawn = st.tuples(st.just("moods"), st.lists(st.sampled_from(moods), max_size=12))
    return st.lists(st.one_of(*_common, drawn), min_size=3, max_size=14)


cut: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(
        *_common,
        st.tuples(
            st.sampled_from(("outage", "lost commit", "others")), st.integers(0, 1), st.integers(1, 12), st.integers(0, 4)
        ),
        st.tuples(st.just("restart away"), st.integers(0, 1), st.integers(1, 4)),
    ),
    min_size=3,
    max_size=14,
)


class Away(test_iceberg.Play):
    """`direct` is the lake as others see it, who have no trouble."""

    direct: Lake
    proxy: MoodyProxy | None = None
    link: Proxy | None = None
    _written = 0

    @classmethod
    def begun(
        cls,
        lake: Lake,
        direct: Lake,
        tasks: int,
        is_there: bool = True,
        proxy: MoodyProxy | None = None,
        link: Proxy | None = None,
    ) -> Away:
        table = f"away.t{next(_numbers)}"
        kind: type[Away] = type(cls.__name__, (cls,), {"direct": direct, "proxy": proxy, "link": link})
        play = kind(lake, tasks, table, is_there or tasks > 1)
        if proxy is not None:
            proxy.others = play.others
        return play

    def settings(self) -> dict[str, str]:
        return {**super().settings(), "max.retries": str(_TRIES)}

    def _start(self, number: int) -> SinkRunner:
        # Who submits a config is told of trouble; the histories are those of tasks.
        moods = [] if self.proxy is None else list(self.proxy.moods)
        if self.proxy is not None:
            self.proxy.moods.clear()
        made = super()._start(number)
        if self.proxy is not None:
            self.proxy.moods.extend(moods)
        return made

    def others(self) -> None:
        """Somebody else writes a row."""
        catalog = self.direct.catalog
        if not catalog.table_exists(self.table):
            return
        table = catalog.load_table(self.table)
        columns = table.schema().as_arrow()
        name = f"other-{self._written}"
        table.append(pa.Table.from_pylist([{"n": name, "k": name, "a": 0}], schema=columns))
        self._written += 1

    def rows(self) -> list[dict[str, Any]]:
        found = self.direct.catalog.load_table(self.table).scan().to_arrow().to_pylist()
        own = [row for row in found if not row["n"].startswith("other-")]
        assert len(found) - len(own) == self._written, f"others have written {self._written} rows, and there are {found}"
        return own

    def play(self, step: Step, patch: pytest.MonkeyPatch) -> None:
        name, *arguments = step
        number = arguments[0] % self._tasks if arguments and isinstance(arguments[0], int) else 0
        if name == "moods":
            assert self.proxy is not None
            self.proxy.moods.extend(arguments[0])
        elif name == "restart away":
            self._restart_away(number, arguments[1])
        elif name in ("outage", "lost commit", "others"):
            self._at_statement(name, number, *arguments[1:])
        else:
            super().play(step, patch)

    def _restart_away(self, number: int, tries: int) -> None:
        """A task is started while its catalog is away."""
        if (link := self.link) is not None:
            link.set(Link.CUT)
            self.engine.kill(number)
            self.engine.put_through(number, tries, lambda: mend(link))

    def _at_statement(self, trouble: str, number: int, statement: int, more: int) -> None:
        """At a statement of the next put, or with the first commit behind it, there is trouble, for some more puts."""
        link, task = self.link, cast(IcebergSinkTask, self.engine.tasks[number].task)
        assert link is not None
        engine: sa.Engine = task._lake.catalog.engine  # type: ignore[attr-defined]
        count = itertools.count(1)
        armed, timers = threading.Event(), list[threading.Timer]()

        def before(*_: Any) -> None:
            if next(count) != statement:
                return
            if trouble == "others":
                self.others()
            elif trouble == "outage":
                link.set(Link.CUT)
            else:
                armed.set()

        def commit(_: Any) -> None:
            if armed.is_set():
                armed.clear()
                link.set(Link.ONLY_THERE)
                timers.append(threading.Timer(_LOST_S, link.set, [Link.CUT]))
                timers[-1].start()

        def mended() -> None:
            for timer in timers:
                timer.join()
            mend(link)

        sa.event.listen(engine, "before_cursor_execute", before)
        sa.event.listen(engine, "commit", commit)
        try:
            self.engine.put_through(number, 1 + more, mended)
        finally:
            sa.event.remove(engine, "before_cursor_execute", before)
            sa.event.remove(engine, "commit", commit)

    def end_of_trouble(self) -> None:
        if self.proxy is not None:
            self.proxy.settle()


class Keyed(Away, test_iceberg.Upserts):
    """The same with upserts."""


def played(begin: Callable[[], Away], history: Sequence[Step]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pending, "ALONE_S", 0.0)
        play = begin()
        play.engine.tries = _TRIES
        try:
            for step in history:
                play.play(step, patch)
            play.end_of_trouble()
            play.check()
        finally:
            play.end_of_trouble()
            play.engine.close()


@pytest.fixture(scope="module")
@starts("process")
def rest() -> Iterator[IcebergRest]:
    server = IcebergRest()
    try:
        yield server.start()
    finally:
        server.stop()


@pytest.fixture(scope="module")
@starts("process")
def store() -> Iterator[s3.S3Server]:
    server = s3.S3Server()
    try:
        yield server.start()
    finally:
        server.stop()


_SENT = [("produce", 0, ["row"] * 4), ("put", 0, 3), ("moods", ["well"] * 2 + ["gone after"]), ("produce", 0, ["row", "more"])]


@pytest.mark.long
@histories(8)
@given(keyed=st.booleans(), tasks=st.sampled_from((1, 2)), is_there=st.booleans(), history=moody(*MOODS))
@example(keyed=False, tasks=1, is_there=True, history=_SENT)
@example(keyed=True, tasks=2, is_there=True, history=[("moods", ["gone before"]), ("kill", 0), *_SENT, ("kill", 1)])
def test_a_rest_catalog_in_trouble(rest: IcebergRest, keyed: bool, tasks: int, is_there: bool, history: list[Step]) -> None:
    note(f"keyed={keyed!r}, tasks={tasks!r}, is_there={is_there!r}, history={history!r}")
    proxy = MoodyProxy(rest.url)
    direct, lake = Lake("rest", rest.url, rest.warehouse), Lake("rest", proxy.url, rest.warehouse)
    kind = Keyed if keyed else Away
    try:
        played(lambda: kind.begun(lake, direct, tasks, is_there, proxy=proxy), history)
    finally:
        proxy.end()


@histories(3)
@given(keyed=st.booleans(), tasks=st.sampled_from((1, 2)), is_there=st.booleans(), history=cut)
@example(
    keyed=False,
    tasks=1,
    is_there=True,
    history=[
        ("produce", 0, ["row"] * 3),
        ("put", 0, 500),
        ("lost commit", 0, 3, 1),
        ("produce", 0, ["more"]),
        ("restart away", 0, 2),
    ],
)
def test_a_catalog_in_a_database_that_is_away(
    postgres: Postgres, keyed: bool, tasks: int, is_there: bool, history: list[Step]
) -> None:
    note(f"keyed={keyed!r}, tasks={tasks!r}, is_there={is_there!r}, history={history!r}")
    history = [*history, ("outage", 0, 1, 1)]
    with tempfile.TemporaryDirectory(prefix="kconnect-truth-") as folder, link_to(postgres.port, history) as link:
        assert link is not None
        login = f"postgresql+psycopg://{postgres.user}:{postgres.password}@{postgres.host}"
        warehouse = f"file://{folder}"
        direct = Lake("sql", f"{login}:{postgres.port}/postgres", warehouse)
        lake = Lake("sql", f"{login}:{link.port}/postgres", warehouse)
        kind = Keyed if keyed else Away
        try:
            played(lambda: kind.begun(lake, direct, tasks, is_there, link=link), history)
        finally:
            direct.catalog.engine.dispose()  # type: ignore[attr-defined]
            lake.catalog.engine.dispose()  # type: ignore[attr-defined]


@pytest.mark.long
@histories(6)
@given(
    keyed=st.booleans(),
    tasks=st.sampled_from((1, 2)),
    is_there=st.booleans(),
    history=moody(*(mood for mood in MOODS if mood != OTHERS)),
)
def test_a_store_in_trouble(store: s3.S3Server, keyed: bool, tasks: int, is_there: bool, history: list[Step]) -> None:
    note(f"keyed={keyed!r}, tasks={tasks!r}, is_there={is_there!r}, history={history!r}")
    proxy = MoodyProxy(store.url)
    bucket = store.bucket(f"lake{next(_numbers)}")
    login = {"s3.access-key-id": s3.ACCESS_KEY, "s3.secret-access-key": s3.SECRET_KEY, "s3.region": s3.REGION}
    with tempfile.TemporaryDirectory(prefix="kconnect-truth-") as folder:
        uri, warehouse = f"sqlite:///{folder}/catalog.db", f"s3://{bucket}/lake"
        direct, lake = (Lake("sql", uri, warehouse, {**login, "s3.endpoint": url}) for url in (store.url, proxy.url))
        kind = Keyed if keyed else Away
        try:
            played(lambda: kind.begun(lake, direct, tasks, is_there, proxy=proxy), history)
        finally:
            proxy.end()
