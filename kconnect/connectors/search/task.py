"""
OpenSearchSinkTask: writes what a put has by bulk requests, one after the other.

If the cluster is busy, or away, the put fails, and is made again without the documents that were taken already. Started by
`connector.py`. Read next: `actions.py`, `service.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import orjson
from opensearchpy import OpenSearch
from opensearchpy.exceptions import OpenSearchException, RequestError, TransportError

import kconnect
from kconnect.api import ConnectError, DataError, RetriableError, SinkBatch, SinkRecord, SinkTask, TopicPartition
from kconnect.connectors import interrupts
from kconnect.connectors.common import Patience, bad_record, place_of
from kconnect.connectors.groups import Group, Origins, groups_of
from kconnect.connectors.search import service, settings
from kconnect.connectors.search.actions import Action, Bad, Maker
from kconnect.connectors.search.connection import Kept
from kconnect.connectors.search.indices import Indices
from kconnect.connectors.search.versions import Superseded

log = logging.getLogger(__name__)

_TOO_LARGE, _BAD_REQUEST, _CONFLICT, _NOT_FOUND = 413, 400, 409, 404
_UNAUTHORIZED, _FORBIDDEN = 401, 403
_BROKEN = 500
"""Of one document, where others are taken, an error of the cluster's own; those that pass are 429 or 503."""


class OpenSearchSinkTask(SinkTask):
    reports_in_put_only = True

    def __init__(self) -> None:
        self._client: OpenSearch | None = None
        self._kept = Kept()
        self._done: set[tuple[TopicPartition, int]] = set()
        """What was taken of a put that has failed."""
        self._taken: list[tuple[Group, Sequence[Action]]] = []
        """What was taken of the present one, request by request."""

    def version(self) -> str:
        return kconnect.__version__

    def start(self, props: dict[str, str]) -> None:
        config = settings.CONFIG.parse(props)
        self._client = service.made_client(config, kept=self._kept)
        self._maker = Maker(config)
        self._indices = Indices(self._client, config)
        self._secrets = service.secrets_of(config)
        self._patience = Patience(settings.RETRIES, config[settings.RETRIES], config[settings.BACKOFF])
        self._most: int = config[settings.BATCH]
        self._most_bytes: int = config[settings.BYTES]
        self._updates = config[settings.METHOD].lower() == "upsert"
        self._malformed: str = config[settings.MALFORMED].lower()
        self._drops: bool = config[settings.DROP]
        self._named_by_field = bool(config[settings.INDEX_FIELD])
        self._superseded = Superseded(self.context, not config[settings.VERSION])
        self._schemaless = config[settings.SCHEMA_IGNORE], frozenset(config[settings.TOPIC_SCHEMA_IGNORE])

    def interrupt(self) -> None:
        interrupts.after_grace(self._kept.shut_down)

    def stop(self) -> None:
        if self._client is not None:
            self._client.close()

    def open(self, partitions: Collection[TopicPartition]) -> None:
        # Whatever was done, it does no harm to do it again.
        self._done.clear()
        self._taken.clear()

    def put(self, records: list[SinkRecord]) -> None:
        if self._done:
            records = [record for record in records if (place_of(record), record.original_offset) not in self._done]
        self._put(groups_of(records))

    def put_batch(self, batch: SinkBatch) -> None:
        if self._done:
            self.put(batch.records())
        else:
            self._put([Group(batch.topic, batch.key, batch.value, Origins(batch))])

    def _put(self, groups: Sequence[Group]) -> None:
        self._superseded.begin()
        for group in groups:
            for actions in self._requests(group):
                self._send(group, actions)
        self._done.clear()
        self._taken.clear()
        self._patience.succeeded()

    def _requests(self, group: Group) -> Iterator[list[Action]]:
        """Actions that go together. Bad records are told of on the way."""
        every, some = self._schemaless
        value_schema = None if every or group.topic in some else group.value.schema
        actions: list[Action] = []
        ids: set[tuple[str, str]] = set()
        size = 0
        for action in self._maker.actions(group):
            if isinstance(action, Bad):
                if not self._drops:
                    self._bad(group.origins.records[action.place], action.error)
                continue
            try:
                self._indices.ensure(action.index, value_schema)
            except RequestError as error:
                # Its name or its mapping, which are the record's.
                problem = DataError(f"its index can't be made: {self._said(service.reason(error))}")
                self._bad(group.origins.records[action.place], problem)
                continue
            except ConnectError as error:
                if not self._is_choice(group.origins.records[action.place]):
                    raise
                self._bad(group.origins.records[action.place], DataError(str(error)))
                continue
            except OpenSearchException as error:
                is_forbidden = isinstance(error, TransportError) and error.status_code == _FORBIDDEN
                if not is_forbidden or not self._is_choice(group.origins.records[action.place]):
                    self._failed(error)
                problem = DataError(f"its index can't be used: {self._said(service.reason(error))}")
                self._bad(group.origins.records[action.place], problem)
                continue
            long = sum(map(len, action.lines)) + 2
            # Of two changes to a document, a failed first one would be made after the second one, if they went together.
            again = self._updates and (action.index, action.id) in ids
            if actions and (len(actions) >= self._most or size + long > self._most_bytes or again):
                yield actions
                actions, ids, size = [], set(), 0
            actions.append(action)
            size += long
            if self._updates:
                ids.add((action.index, action.id))
        if actions:
            yield actions

    def _send(self, group: Group, actions: Sequence[Action]) -> None:
        assert self._client is not None
        try:
            items = service.bulk(self._client, [line for action in actions for line in action.lines], len(actions))
        except OpenSearchException as error:
            if isinstance(error, TransportError) and error.status_code in (_TOO_LARGE, _BAD_REQUEST):
                # One of them may have spoilt the request for all.
                self._halve(group, actions, error)
                return
            self._failed(error)
        passing, waits = "", False
        broken: list[tuple[SinkRecord, Mapping[str, Any]]] = []
        records = group.origins.records if items else ()
        same: list[tuple[Action, SinkRecord]] = []
        for action, (status, trouble) in zip(actions, items):
            record = records[action.place]
            if trouble and service.item_passes(status, trouble) and not self._has_chosen_wrong(record, trouble):
                passing = self._said(service.told(trouble))
                waits |= status != _BROKEN
                broken.append((record, trouble))
                continue
            if trouble and status == _CONFLICT and not self._updates:
                if self._keep(record, trouble):
                    same.append((action, record))
            elif trouble:
                self._refused(record, status, trouble)
            self._done.add((place_of(record), record.original_offset))
        self._compare(same)
        if passing:
            try:
                self._again(f"The cluster does not take documents for now: {passing}")
            except RetriableError:
                raise
            except ConnectError:
                # Tries are over. Where it takes others, what it breaks at is in these: a pipeline's script, for one.
                if waits or not self._done:
                    raise
            for record, trouble in broken:
                self._refused(record, _BROKEN, trouble)
                self._done.add((place_of(record), record.original_offset))
            self._patience.succeeded()
        if not items:
            self._taken.append((group, actions))

    def _note_taken(self) -> None:
        """The put is to be made again, without these."""
        for group, actions in self._taken:
            every = [group.origins.every(f"original_{name}") for name in ("topic", "partition", "offset")]
            for topic, partition, offset in ([values[action.place] for values in every] for action in actions):
                self._done.add((TopicPartition(topic, partition), offset))
        self._taken.clear()

    def _keep(self, record: SinkRecord, trouble: Mapping[str, Any]) -> bool:
        """The document is there already, in this version or a later one. Return whether it is this one."""
        try:
            return self._superseded.check(record, trouble)
        except DataError as error:
            self._bad(record, error)
            return False

    def _compare(self, same: Sequence[tuple[Action, SinkRecord]]) -> None:
        """Look whether documents that are there in a record's version are the record's. Nobody knows for who may not read."""
        # An id that is the record's place is that of no other one.
        same = [pair for pair in same if pair[0].id != "+".join(map(str, (*place_of(pair[1]), pair[1].original_offset)))]
        if not same or self._client is None:
            return
        addresses = [{"_index": action.index, "_id": action.id} for action, _ in same]
        try:
            existing = self._client.mget(body={"docs": addresses})["docs"]
        except OpenSearchException as error:
            log.debug("Documents can't be compared: %s", service.reason(error))
            return
        except (LookupError, TypeError):
            log.debug("Documents can't be compared: the cluster does not answer as one of its kind does")
            return
        for (action, record), entry in zip(same, existing if isinstance(existing, list) else ()):
            if not isinstance(entry, dict) or "error" in entry:
                continue
            document = orjson.loads(action.lines[1]) if len(action.lines) > 1 else None
            if (entry.get("_source") if entry.get("found") else None) != document:
                self._superseded.other(record)

    def _refused(self, record: SinkRecord, status: int, error: Mapping[str, Any]) -> None:
        text = self._said(service.told(error))
        if status == _UNAUTHORIZED or (status == _FORBIDDEN and not self._is_choice(record)):
            raise ConnectError(f"The cluster refuses the user {settings.USER}: {text}")
        if status == _NOT_FOUND:
            # Somebody has deleted the index.
            self._indices.forget()
            self._again(text)
        if status == _CONFLICT:
            self._again(text)
        if self._malformed == "fail":
            self._bad(record, DataError(f"the cluster refuses it: {text}"))
        elif self._malformed == "warn":
            where = f"{record.original_topic}-{record.original_partition}@{record.original_offset}"
            log.warning("Passed over %s: %s", where, text)

    def _has_chosen_wrong(self, record: SinkRecord, trouble: Mapping[str, Any]) -> bool:
        """Whether a record has chosen an index that nobody may write to any more: it is refused, however often it comes."""
        return service.is_kept_from_writes(trouble) and self._is_choice(record)

    def _is_choice(self, record: SinkRecord) -> bool:
        """Whether a record has chosen its index: a field has named it, or a transform the topic."""
        return self._named_by_field or record.topic != record.original_topic

    def _halve(self, group: Group, actions: Sequence[Action], error: TransportError) -> None:
        if len(actions) == 1:
            record = group.origins.records[actions[0].place]
            large = error.status_code == _TOO_LARGE
            reason = "it is too large for the cluster" if large else service.reason(error)
            self._refused(record, int(error.status_code), {"type": "request", "reason": reason})
            return
        half = len(actions) // 2
        self._send(group, actions[:half])
        self._send(group, actions[half:])

    def _bad(self, record: SinkRecord, error: DataError) -> None:
        reporter = self.context.errant_record_reporter()
        if reporter is None:
            raise bad_record(record, error) from error
        reporter.report(record, error)

    def _failed(self, error: OpenSearchException) -> NoReturn:
        text = f"The cluster can't be used: {self._said(service.reason(error))}"
        if not service.passes(error):
            raise ConnectError(text) from None
        self._indices.forget()
        self._again(text)

    def _said(self, text: str) -> str:
        return service.without(self._secrets, text)

    def _again(self, text: str) -> NoReturn:
        self._note_taken()
        error, pause_ms = self._patience.failed(text)
        self.context.timeout(pause_ms)
        raise error from None
