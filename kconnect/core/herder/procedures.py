"""
Multi-step work of a herder, written as generators that yield what they wait for.

`yield from ask(effect)` goes on with what the effect gives (or its error is raised there), `yield Until(condition)` once the
condition holds. So a request that validates, writes, and waits until its own record has been read back reads as straight
code, and still the herder is a pure state machine: nothing here waits, blocks or looks at a clock. `Procedures` is held by
`desk.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

from kconnect.core.herder.effects import Effect

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Until:
    condition: Callable[[], bool]


Step = Effect[Any] | Until
Procedure = Generator[Step, object, T]
"""Work of several steps that gives a T."""
OnEnd = Callable[[T | None, "Exception | None"], None]
"""Gets what a procedure gave, or the error that it ended with."""


def ask(effect: Effect[T]) -> Procedure[T]:
    """Have the effect performed, and go on with what it gives. Whatever it fails with is raised."""
    return cast("T", (yield effect))


@dataclass
class Procedures:
    """The procedures that are under way."""

    _waiting_for: dict[int, _Running] = field(default_factory=dict)
    _waiting_until: list[_Running] = field(default_factory=list)
    _next_id: int = 1

    def start(self, procedure: Procedure[T], on_end: OnEnd[T], ticket: int = 0) -> list[Effect[Any]]:
        """Start a procedure, which answers the request with that `ticket`; 0: none."""
        running = _Running(procedure, on_end, ticket)
        return self._resume(running, lambda: next(procedure))

    def done(self, id: int, result: object) -> list[Effect[Any]]:
        running = self._waiting_for.pop(id, None)
        return [] if running is None else self._resume(running, lambda: running.procedure.send(result))

    def failed(self, id: int, error: Exception) -> list[Effect[Any]]:
        running = self._waiting_for.pop(id, None)
        return [] if running is None else self._resume(running, lambda: running.procedure.throw(error))

    def advance(self) -> list[Effect[Any]]:
        """Resume whoever waits for a condition that holds by now, until nobody is left who can go on."""
        effects: list[Effect[Any]] = []
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

    def close(self, procedure: Procedure[Any]) -> None:
        """End a procedure where it stands; the answer to what it waits for will be ignored."""
        for running in [*self._waiting_for.values(), *self._waiting_until]:
            if running.procedure is procedure:
                running.closed = True
        self._waiting_for = {id: running for id, running in self._waiting_for.items() if not running.closed}
        self._waiting_until = [running for running in self._waiting_until if not running.closed]
        procedure.close()

    def _resume(self, running: _Running, step: Callable[[], Step]) -> list[Effect[Any]]:
        try:
            yielded = step()
        except StopIteration as end:
            running.on_end(end.value, None)
            return []
        except Exception as error:  # noqa: BLE001 - handed to whoever started the procedure
            running.on_end(None, error)
            return []
        if isinstance(yielded, Until):
            running.condition = yielded.condition
            self._waiting_until.append(running)
            return []
        effect = replace(yielded, id=self._next_id, ticket=running.ticket)
        self._waiting_for[self._next_id] = running
        self._next_id += 1
        return [effect]


@dataclass
class _Running:
    procedure: Procedure[Any]
    on_end: OnEnd[Any]
    ticket: int
    condition: Callable[[], bool] = lambda: True
    closed: bool = False
