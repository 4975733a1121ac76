"""
Where Python puts a batch for Java: direct memory of Java's that is kept, and grows.

Used by `sink_task.py`, `mixed.py` and `crossing.py`. JPype's `convertToDirectBuffer` gives Python's memory to Java instead,
but each such buffer is an object for the garbage collectors of both languages: measured, a batch cost 67 to 127 µs with it and
7 µs so, and every few hundred batches Java collected its whole heap.
"""

from __future__ import annotations

import ctypes
from typing import Any

import jpype


class Inbox:
    """A buffer for one batch at a time: Java has to be through with a batch before the next one comes."""

    def __init__(self) -> None:
        self._buffer: Any = None
        self._memory = memoryview(bytearray())

    def put(self, data: bytes | bytearray) -> Any:
        """A ByteBuffer with these bytes, the same one as before if they fit."""
        if len(data) > len(self._memory):
            size = len(data) + len(data) // 4
            order = jpype.JClass("java.nio.ByteOrder").nativeOrder()
            self._buffer = jpype.JClass("java.nio.ByteBuffer").allocateDirect(size).order(order)
            # A view of the buffer itself can't be written to: its format has a byte order.
            self._memory = memoryview((ctypes.c_char * size).from_buffer(self._buffer)).cast("B")
        self._memory[: len(data)] = data
        self._buffer.clear()
        self._buffer.limit(len(data))
        return self._buffer
