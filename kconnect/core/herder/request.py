"""
What every request is: a frozen dataclass that stands beside the procedure which answers it.

Those of one noun are a module of `requests/`. REST makes one and submits it to `worker/loop.py`; `herder.py` has it answered.
An answer is plain JSON data in the shape that Kafka Connect's REST API gives it, or an error of `kconnect.errors`. Every
refusal comes before the first write, so that a request which is refused has changed nothing. What the leader is to write it
also checks: another worker may not have read yet what the checks are about. Read next: `desk.py` for what a procedure may do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from kconnect.core.herder.classes import Classes
from kconnect.core.herder.desk import Desk
from kconnect.core.herder.old_offsets import OldOffsets
from kconnect.core.herder.overview import Overview
from kconnect.core.herder.placing import Placing
from kconnect.core.herder.procedures import Procedure
from kconnect.core.herder.rebalances import Rebalances
from kconnect.core.herder.rivals import Rivals

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class Office:
    """The desk, and who works beside it: all that the answer to a request may need."""

    desk: Desk
    classes: Classes
    placing: Placing
    rivals: Rivals
    rebalances: Rebalances
    old_offsets: OldOffsets
    overview: Overview


@dataclass(frozen=True, slots=True)
class Request(Generic[T_co]):
    """The base of all; its answer is a T."""

    writes = False
    """Whether it changes something: a worker that is about to end, or must not write, refuses it."""
    waits = True
    """Whether it is answered only once this worker has read the log."""
    hurries = False
    """
    Whether it is begun before what anybody may read, as one that writes is: it is answered in no time and something else waits
    for it, or only those may ask who may change something.
    """

    def answer(self, office: Office) -> Procedure[T_co]:
        """Runs anew if another worker leads by the time that it writes as leader; nothing was written then."""
        raise NotImplementedError


class Look(Request[T_co]):
    """A request without steps: the answer is what this worker has read."""

    __slots__ = ()

    def answer(self, office: Office) -> Procedure[T_co]:
        yield from ()
        return self.look(office)

    def look(self, office: Office) -> T_co:
        raise NotImplementedError
