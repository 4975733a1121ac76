"""How much heap a JVM gets: `kconnect/jvm/options.py`."""

from __future__ import annotations

import pytest

from kconnect.errors import ConnectError
from kconnect.jvm.options import Options

MIB = 2**20


@pytest.mark.parametrize(
    ("heap", "most", "fitting"),
    [(512, None, 512), (512, 1024, 512), (512, 512, 288), (512, 240, 16), (16, 512, 16)],
)
def test_a_limited_process_has_room_besides_the_heap(heap: int, most: int | None, fitting: int) -> None:
    limit = None if most is None else most * MIB
    assert Options(heap * MIB, (), limit, "tasks.memory.max").fitting_heap() == fitting * MIB


def test_a_limit_without_room_for_a_heap() -> None:
    with pytest.raises(ConnectError, match=r"^tasks.memory.max is 134217728, and .* needs at least 251658240$"):
        Options(512 * MIB, (), 128 * MIB, "tasks.memory.max").fitting_heap()
