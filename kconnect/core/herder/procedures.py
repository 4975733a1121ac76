"""
Multi-step work of a herder, written as generators that yield what they wait for.

A procedure yields an effect and is resumed with its result (or the error is thrown into it), or yields `Until(condition)`
and is resumed once the condition holds. So a request that validates, writes, and waits until its own record has been read
back reads as straight code, and still the herder is a pure state machine: nothing here waits, blocks or looks at a clock.
Called by `herder.py` only.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import Any

from kconnect.core.herder.effects import Answerable


@dataclass(frozen=True, slots=True)
class Until:
    condition: Callable[[], bool]


@dataclass
class Pace:
    """
    Lets steps go on at once as long as they are rare, and every `milliseconds` when they are many.

    Each decision costs every reader of the log one more set of records, so many changes within a moment share one.
    """

    milliseconds: int
    burst: int
    _spent_until: int = 0

    def free_at(self, now: int) -> int:
        """Take one step; the answer is when the next one may follow."""
        self._spent_until = max(self._spent_until, now) + self.milliseconds
        return max(now, self._spent_until - (self.burst - 1) * self.milliseconds)


Step = Answerable | Until
Procedure = Generator[Step, Any, Any]


@dataclass
class Procedures:
    """Those that are under way. `on_end` gets a procedure's result, or the error that it ended with."""

    _waiting_for: dict[int, _Running] = field(default_factory=dict)
    _waiting_until: list[_Running] = field(default_factory=list)
    _next_id: int = 1

    def start(self, procedure: Procedure, on_end: Callable[[Any, Exception | None], None]) -> list[Answerable]:
        running = _Running(procedure, on_end)
        return self._resume(running, lambda: next(procedure))

    def done(self, id: int, result: Any) -> list[Answerable]:
        running = self._waiting_for.pop(id, None)
        return [] if running is None else self._resume(running, lambda: running.procedure.send(result))

    def failed(self, id: int, error: Exception) -> list[Answerable]:
        running = self._waiting_for.pop(id, None)
        return [] if running is None else self._resume(running, lambda: running.procedure.throw(error))

    def advance(self) -> list[Answerable]:
        """Resume whoever waits for a condition that holds by now, until nobody is left who can go on."""
        effects: list[Answerable] = []
        progress = True
        while progress:
            progress = False
            waiting, self._waiting_until = self._waiting_until, []
            for running in waiting:
                if running.closed:
                    continue
                if running.condition():
                    progress = True
                    effects += self._resume(running, lambda running=running: next(running.procedure))  # type: ignore[misc]
                else:
                    self._waiting_until.append(running)
        return effects

    def close(self, procedure: Procedure) -> None:
        """End a procedure where it stands; the answer to what it waits for will be ignored."""
        for running in [*self._waiting_for.values(), *self._waiting_until]:
            if running.procedure is procedure:
                running.closed = True
        self._waiting_for = {id: running for id, running in self._waiting_for.items() if not running.closed}
        self._waiting_until = [running for running in self._waiting_until if not running.closed]
        procedure.close()

    def _resume(self, running: _Running, step: Callable[[], Step]) -> list[Answerable]:
        try:
            wanted = step()
        except StopIteration as end:
            running.on_end(end.value, None)
            return []
        except Exception as error:  # noqa: BLE001 - handed to whoever started the procedure
            running.on_end(None, error)
            return []
        if isinstance(wanted, Until):
            running.condition = wanted.condition
            self._waiting_until.append(running)
            return []
        effect = replace(wanted, id=self._next_id)
        self._waiting_for[self._next_id] = running
        self._next_id += 1
        return [effect]


@dataclass
class _Running:
    procedure: Procedure
    on_end: Callable[[Any, Exception | None], None]
    condition: Callable[[], bool] = lambda: True
    closed: bool = False
