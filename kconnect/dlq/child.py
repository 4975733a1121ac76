"""
Dead letters for a worker's REST API, in a process of its own: letters may be large, and chains run plugins' code.

`worker/errands.py` starts it, with one request: a connector, the configs of all that name the same queue, and either a
`choice` of letters to be read or `letters` to be replayed. Read next: `queue.py`, `planning.py`, `preview/child.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from kconnect.core.settings.errors import DEAD_LETTERS_TOPIC
from kconnect.core.settings.internal_topics import InternalTopics
from kconnect.core.settings.worker import WorkerSettings
from kconnect.dlq.chains import Chains, anywhere, own
from kconnect.dlq.choice import Choice
from kconnect.dlq.letters import Letter
from kconnect.dlq.memory import includes
from kconnect.dlq.origins import Reporters, proofs, queue_elsewhere, reporter
from kconnect.dlq.planning import Plan, Rules, plan
from kconnect.dlq.queue import Connect, Queue
from kconnect.dlq.sending import Sender
from kconnect.errors import ConnectError, NotFoundError
from kconnect.kafka import clients
from kconnect.plugins import one_request
from kconnect.plugins.registry import Registry
from kconnect.preview import child
from kconnect.preview.preview import Outcome, Preview

_MOST_BYTES = 4 * 1024 * 1024
"""Of an answer with letters; the last one may exceed it."""


def main() -> None:
    one_request.serve(_work)


def _work(request: Mapping[str, Any], memory: int | None) -> dict[str, Any]:
    settings = WorkerSettings.from_properties(request["worker"], {})
    connector, configs = request["connector"], request["configs"]
    connect = functools.partial(_client, settings)
    name = DEAD_LETTERS_TOPIC.read(configs[connector])
    settings.internal_topics.require_data(DEAD_LETTERS_TOPIC.key.name, name)
    asked = settings.bootstrap_servers
    if elsewhere := queue_elsewhere(configs[connector], asked):
        raise NotFoundError(
            f"The connector {connector} has its queue {name} at the brokers of {elsewhere}: kconnect dlq reads it there, with "
            "--bootstrap-server"
        )
    with Queue(connect, name) as queue:
        if not queue.partitions():
            raise NotFoundError(f"The connector {connector} has the queue {name}, but no task has created that topic yet")
        reporters = Reporters(
            reporter(name, request["kinds"][name], config, request["topics"][name], asked, settings.raw)
            for name, config in configs.items()
            if queue_elsewhere(config, asked) is None
        )
        if request["letters"] is None:
            return _read(queue, reporters, Choice(**request["choice"]), request["limit"], request["oldest"])
        converts = own if request["to_topic"] is None else anywhere
        with Chains(reporters, _Builder(settings, configs, memory).build, converts) as chains:
            return _replay(connect, queue, chains, reporters, settings.internal_topics, request)


def _client(settings: WorkerSettings, kind: str) -> dict[str, Any]:
    return clients.plain(settings, kind, "dlq")


def _read(queue: Queue, reporters: Reporters, choice: Choice, limit: int, oldest: bool) -> dict[str, Any]:
    letters = queue.some(choice, limit + 1, oldest)
    more = len(letters) > limit
    # What does not fit is on the far side.
    letters = letters[:limit] if oldest else letters[-limit:][::-1]
    problem = None
    try:
        replays = queue.replayed()
    except ConnectError as error:
        # Who may only read topics sees the letters all the same.
        replays, problem = None, str(error)
    proven = proofs(letters, reporters, queue.read_back)
    rows, size = [], 0
    for letter in letters:
        replayed = None if replays is None else includes(replays, letter.partition, letter.offset)
        row = {**letter.as_json(), "replayed": replayed, "origin": proven[letter.place].value}
        rows.append(row)
        size += len(orjson.dumps(row))
        if size > _MOST_BYTES:
            break
    rows = rows if oldest else rows[::-1]
    return {
        "queue": queue.name,
        "offsets": {str(place): list(span) for place, span in queue.bounds().items()},
        "more": more or len(rows) < len(letters),
        "replays_unknown": problem,
        "letters": rows,
    }


def _replay(
    connect: Connect,
    queue: Queue,
    chains: Chains,
    reporters: Reporters,
    internal: InternalTopics,
    request: Mapping[str, Any],
) -> dict[str, Any]:
    chosen = {(place, offset) for place, offset in request["letters"]}
    letters = _chosen(queue, chosen)
    again = request["again"]
    tried: dict[tuple[int, int], Outcome] = {}

    def run(letter: Letter) -> Outcome:
        outcome = chains.run(letter)
        tried[_place(letter)] = chains.shown(letter, outcome)
        return outcome

    rules = Rules(
        queue.name,
        functools.cache(queue.partitions),
        reporters,
        queue.read_back,
        internal,
        request["to_topic"],
        run if request["through_chain"] else None,
        again=again,
        limit=len(chosen),
    )
    replay_plan = plan(letters, queue.replayed(), rules)
    written = 0
    if replay_plan.outgoing and not request["dry_run"]:
        with Sender(connect, queue) as sender:
            remaining, replays = sender.still(replay_plan.outgoing, again)
            sender.send(remaining, replays, lambda _: None)
            written = len(remaining)
    rows = {**dict.fromkeys(sorted(chosen), "there is no such letter, or not any more"), **_rows(letters, replay_plan)}
    for letter in letters:
        row = rows[_place(letter)]
        if _place(letter) in tried and not isinstance(row, str):
            rows[_place(letter)] = {
                name: chains.shown_text(letter, value) if isinstance(value, str) else value for name, value in row.items()
            }
    return {
        "queue": queue.name,
        "replayed": written,
        "letters": [_row(place, row, tried.get(place)) for place, row in rows.items()],
    }


def _rows(letters: Iterable[Letter], replay_plan: Plan) -> dict[tuple[int, int], Any]:
    decided = {_place(row.letter): row.as_json() for row in replay_plan.rows}
    return {_place(letter): decided.get(_place(letter), "it has been replayed already") for letter in letters}


def _row(place: tuple[int, int], decision: str | dict[str, Any], outcome: Outcome | None) -> dict[str, Any]:
    blank = {"from": None, "to": None, "to_partition": None, "left": decision, "origin": None}
    row = {**dict(zip(("partition", "offset"), place)), **(blank if isinstance(decision, str) else decision)}
    return {**row, "outcome": None if outcome is None else outcome.as_json()}


def _chosen(queue: Queue, chosen: set[tuple[int, int]]) -> list[Letter]:
    letters: list[Letter] = []
    for partition in sorted({partition for partition, _ in chosen}):
        # One by one where they are far from each other: a queue may hold millions.
        letters += queue.at(partition, sorted(offset for of, offset in chosen if of == partition)).values()
    return letters


def _place(letter: Letter) -> tuple[int, int]:
    return letter.partition, letter.offset


class _Builder:
    def __init__(self, settings: WorkerSettings, configs: Mapping[str, dict[str, str]], memory: int | None) -> None:
        self._settings, self._configs, self._memory = settings, configs, memory
        self._plugins: Registry | None = None

    def build(self, connector: str, kind: str) -> Preview:
        config = self._configs.get(connector)
        if config is None:
            raise NotFoundError(f"The connector {connector}, which wrote the letter, is gone, or has another queue now")
        if self._plugins is None:
            self._plugins = child.plugins(self._settings, self._memory)
        return child.chain(config, kind, self._settings, self._plugins)


if __name__ == "__main__":
    main()
