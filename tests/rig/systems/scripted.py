"""
A source connector that gives what its config says, for tests of exactly-once sources: the records of each `poll`, and where the
task says that transactions end.

Loaded by workers as a plugin that `write_plugin` makes, so that no user's worker shows it. Its classes use the public API only,
as any plugin's. The number of a record is its value and its source offset, so that a task goes on behind the last one that was
stored.
"""

from __future__ import annotations

import threading
from pathlib import Path

from kconnect.api.config import ConfigDef, ConfigKey, Importance, Type
from kconnect.api.connector import ExactlyOnceSupport, SourceConnector
from kconnect.api.record import SourceRecord
from kconnect.api.task import SourceTask, TransactionContext
from kconnect.data.schema import STRING_SCHEMA
from kconnect.errors import ConnectError
from tests.rig.systems.plugin_packages import PluginPackage

CLASS = "ScriptedSourceConnector"
VERSION = "1.0"

CONFIG = ConfigDef(
    ConfigKey("topic", Type.STRING, importance=Importance.HIGH, doc="Where records go; task N has the source partition N."),
    ConfigKey(
        "script",
        Type.STRING,
        "",
        doc="Polls, with semicolons between them. In each: `1` or `1..9` are records; with `+` or `-` behind it the "
        "transaction is committed or aborted behind the record, by `commit` or `abort` behind the batch. `fail` is an error.",
    ),
    ConfigKey("support", Type.STRING, "SUPPORTED", doc="SUPPORTED, UNSUPPORTED, unknown or error: how it answers preflight."),
    ConfigKey("boundaries", Type.STRING, "true", doc="Whether it can define transaction boundaries: true, false or error."),
)


def write_plugin(directory: Path) -> Path:
    """Make a directory for `plugin.path` that holds nothing but this connector; gives it back."""
    entries = {CLASS: f"{__name__}:{CLASS}"}
    PluginPackage("kconnect-scripted", VERSION, {}, {"kconnect.connectors": entries}).unpack(directory / "scripted")
    return directory


class ScriptedSourceConnector(SourceConnector):
    def version(self) -> str:
        return VERSION

    def start(self, props: dict[str, str]) -> None:
        self._props = dict(props)

    def stop(self) -> None:
        """Nothing was taken."""

    def task_class(self) -> type[SourceTask]:
        return ScriptedSourceTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [{**self._props, "task": str(task)} for task in range(max_tasks)]

    def config(self) -> ConfigDef:
        return CONFIG

    def exactly_once_support(self, props: dict[str, str]) -> ExactlyOnceSupport | None:
        said = props.get("support", "SUPPORTED")
        if said == "error":
            raise ConnectError("This connector can't tell")
        return None if said == "unknown" else ExactlyOnceSupport(said)

    def can_define_transaction_boundaries(self, props: dict[str, str]) -> bool:
        said = props.get("boundaries", "true")
        if said == "error":
            raise ConnectError("This connector can't tell")
        return said == "true"


class ScriptedSourceTask(SourceTask):
    def version(self) -> str:
        return VERSION

    def start(self, props: dict[str, str]) -> None:
        settings = CONFIG.parse(props)
        self._topic: str = settings["topic"]
        self._partition = {"task": props.get("task", "0")}
        self._polls = [part.split() for part in settings["script"].split(";") if part.strip()]
        stored = self.context.offsets.offset(self._partition)
        self._last: int = stored["number"] if stored else 0
        self._stopped = threading.Event()

    def poll(self) -> list[SourceRecord] | None:
        while self._polls:
            words = self._polls.pop(0)
            numbers = [self._numbers(word) for word in words if word[0].isdigit()]
            if not numbers or max(map(max, numbers)) > self._last:
                return self._perform(words)
        self._stopped.wait(0.5)
        return None

    def stop(self) -> None:
        self._stopped.set()

    def _perform(self, words: list[str]) -> list[SourceRecord]:
        transactions, found = self.context.transaction_context, []
        for word in words:
            if word == "fail":
                raise ConnectError("The script says so")
            if not word[0].isdigit():
                assert transactions is not None
                (transactions.commit_transaction if word == "commit" else transactions.abort_transaction)()
                continue
            made = [self._record(number) for number in self._numbers(word) if number > self._last]
            found += made
            if made and transactions is not None:
                for sign in word[-2:]:
                    self._ask(transactions, sign, made[-1])
        return found

    def _ask(self, transactions: TransactionContext, sign: str, record: SourceRecord) -> None:
        if sign == "+":
            transactions.commit_transaction(record)
        elif sign == "-":
            transactions.abort_transaction(record)

    def _numbers(self, word: str) -> list[int]:
        first, _, last = word.rstrip("+-").partition("..")
        return list(range(int(first), int(last or first) + 1))

    def _record(self, number: int) -> SourceRecord:
        value = f"{self._partition['task']}:{number}"
        return SourceRecord(self._partition, {"number": number}, self._topic, None, None, None, STRING_SCHEMA, value)
