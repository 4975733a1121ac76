"""What ends the catalog of a stopped task ends no other task's, though the number of a thread that has ended is given again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from kconnect.connectors.iceberg import ends


class Asked:
    def __init__(self) -> None:
        self.ended = False

    def end(self) -> None:
        self.ended = True


def in_thread(work: Callable[[], Any]) -> tuple[int | None, Any]:
    """Return the number of the thread, and what `work` returned in it."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join()
    return thread.ident, results[0]


def note(*asking: Asked) -> Callable[[], object]:
    def work() -> object:
        for one in asking:
            ends.note(one)
        return ends.here()

    return work


def test_it_ends_all_that_its_thread_has_noted() -> None:
    mine, others = [Asked(), Asked()], Asked()
    _, owner = in_thread(note(*mine))
    in_thread(note(others))
    ends.end(owner)
    assert [asking.ended for asking in (*mine, others)] == [True, True, False]


def test_a_thread_with_the_number_of_one_that_has_ended_is_another() -> None:
    before = Asked()
    number, owner = in_thread(note(before))
    for _ in range(1000):
        later = Asked()
        again, _ = in_thread(note(later))
        if again == number:
            break
    assert again == number, "the number was not given again"
    ends.end(owner)
    assert before.ended
    assert not later.ended
