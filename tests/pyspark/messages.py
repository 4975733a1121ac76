"""Messages as confluent-kafka has them, without a broker."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Message:
    """A message of the topic `orders`; its offset is the only thing that all tests give."""

    at: int
    content: bytes | None = b"{}"
    name: bytes | None = None
    pairs: tuple[tuple[str, bytes | None], ...] = ()
    time_ms: int | None = 1_000

    def topic(self) -> str:
        return "orders"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self.at

    def value(self) -> bytes | None:
        return self.content

    def key(self) -> bytes | None:
        return self.name

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        return list(self.pairs) or None

    def timestamp(self) -> tuple[int, int]:
        return (0, -1) if self.time_ms is None else (1, self.time_ms)
