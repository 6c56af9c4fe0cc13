"""Nobody waits: every gradient is a step of its own, in the order of arrival."""

from dataclasses import dataclass
from typing import Any, Generic, Literal

from .base import A


@dataclass(frozen=True)
class Asynchronous:
    """A worker's next model is the newest, whatever the others do."""

    kind: Literal["asynchronous"] = "asynchronous"

    def start(self, members: frozenset[str]) -> "Unsynchronized[Any]":
        return Unsynchronized()


class Unsynchronized(Generic[A]):
    """Remembers nothing."""

    def arrive(self, node: str, arrival: A, now: float) -> list[A] | None:
        return [arrival]

    def holds(self, node: str) -> bool:
        return False

    def deadline(self) -> float | None:
        return None

    def tick(self, now: float) -> list[A] | None:
        return None
