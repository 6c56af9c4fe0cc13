"""Nobody waits: every gradient is a step of its own, in the order of arrival."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal

from .base import A


@dataclass(frozen=True)
class Asynchronous:
    """A worker's next model is the newest, whatever the others do."""

    kind: Literal["asynchronous"] = "asynchronous"

    def start(
        self, members: frozenset[str], seed: int = 0, examples: Mapping[str, int] | None = None
    ) -> "Unsynchronized[Any]":
        return Unsynchronized()


class Unsynchronized(Generic[A]):
    """Remembers nothing."""

    turn = 0
    weights = None

    def begin(self, now: float) -> None:
        pass

    def sent(self, node: str) -> None:
        pass

    def arrive(self, node: str, arrival: A, now: float) -> list[A] | None:
        return [arrival]

    def failed(self, node: str, now: float) -> list[A] | None:
        return None

    def holds(self, node: str) -> bool:
        return False

    def deadline(self) -> float | None:
        return None

    def tick(self, now: float) -> list[A] | None:
        return None
