"""The fast wait for the slow, but only so long: stale synchronous parallel (Ho et al., 2013).

A worker's clock counts the gradients that it has sent. It may begin its next one only while it is
no more than `bound` ahead of the slowest, so between its pull and its push the others make at most
(2 · bound + 1) updates each. A bound of zero is nearly a barrier, though each gradient is applied
as it comes; without any bound it would be asynchronous.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal

from ..units import Seconds
from .base import A, check_patience


@dataclass(frozen=True)
class Bounded:
    """A worker begins clock c only once c - bound is no more than the slowest one's clock.

    Who has sent nothing while somebody waited for `patience` is given up: nobody waits for it
    until it sends a gradient, and then its clock goes on at the slowest one's.
    """

    bound: int = 3
    """How many gradients a worker may be ahead of the slowest: the paper's s."""
    patience: Seconds = Seconds(60)
    kind: Literal["bounded"] = "bounded"

    def __post_init__(self) -> None:
        if self.bound < 0:
            raise ValueError(f"bound is {self.bound}: it is at least 0")
        check_patience(self.patience)

    def start(
        self, members: frozenset[str], seed: int = 0, examples: Mapping[str, int] | None = None
    ) -> "Clocks[Any]":
        return Clocks(self, members)


class Clocks(Generic[A]):
    """Everyone's clock, and the slowest of those that are waited for."""

    weights = None

    def __init__(self, bounded: Bounded, members: frozenset[str]) -> None:
        self._bounded = bounded
        self._clocks = dict.fromkeys(members, 0)
        self._live = set(members)
        self._at = {0: len(members)}  # how many of the live stand at each clock
        self._slowest = 0
        self._deadline: float | None = None  # while somebody waits
        self._heard: set[str] = set()  # since somebody waits
        self.releases = 0

    def begin(self, now: float) -> None:
        pass

    def sent(self, node: str) -> None:
        pass

    def arrive(self, node: str, arrival: A, now: float) -> list[A] | None:
        self._advance(node)
        if self.holds(node) and self._deadline is None:
            self._deadline = now + self._bounded.patience
        if self._deadline is not None:
            self._heard.add(node)
        return [arrival]

    def failed(self, node: str, now: float) -> list[A] | None:
        return None

    def holds(self, node: str) -> bool:
        return self._clocks.get(node, 0) > self._slowest + self._bounded.bound

    def deadline(self) -> float | None:
        return self._deadline

    def tick(self, now: float) -> list[A] | None:
        if self._deadline is not None and now >= self._deadline:
            for node in self._live - self._heard:
                self._at[self._clocks[node]] -= 1
            self._live &= self._heard  # at least the one that has been waiting
            self._catch_up()
            # who came back meanwhile, and stands where the slowest stood, has its own time
            self._heard = {node for node in self._live if self.holds(node)}
            self._deadline = now + self._bounded.patience if self._heard else None
        return None

    def _advance(self, node: str) -> None:
        clock = self._clocks.get(node, 0) + 1
        if node in self._live:
            self._at[clock - 1] -= 1
        else:
            self._live.add(node)
            clock = max(clock, self._slowest)
        self._clocks[node] = clock
        self._at[clock] = self._at.get(clock, 0) + 1
        if not self._at[self._slowest]:
            self._catch_up()

    def _catch_up(self) -> None:
        """Once the slowest has moved on nobody waits: none was further than the next from it."""
        while not self._at.get(self._slowest):
            self._at.pop(self._slowest, None)
            self._slowest += 1
        self._deadline = None
        self._heard.clear()
        self.releases += 1
