"""Synchronization `bounded`: stale synchronous parallel (SSP; Ho et al., 2013).

A worker's clock counts the gradients that it has sent. A worker may begin the next gradient only
while its clock is at most `bound` ahead of the slowest. So between a worker's pull and push the
others make at most (2 · bound + 1) updates each. A bound of zero is nearly a barrier, except that
each gradient is applied as it comes; an infinite bound would be asynchronous.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal

from ..plugins.stateful import Stateful
from ..units import AtLeast, Seconds
from .base import A, LeftOut, LeftOutCount, Patience, check_patience

_BOUND = AtLeast(0)


@dataclass(frozen=True)
class Bounded:
    """Stale synchronous parallel: a worker is at most `bound` gradients ahead of the slowest.

    Ho et al. (2013). A worker that has sent nothing while another worker waited for `patience` is
    given up until it sends a gradient; then its count continues from the slowest worker's.
    """

    bound: Annotated[int, _BOUND] = 3
    """Gradients that a worker may be ahead of the slowest: the paper's s."""
    patience: Patience = Seconds(60)
    """Time that a held worker waits until silent workers are given up."""
    kind: Literal["bounded"] = "bounded"

    def __post_init__(self) -> None:
        _BOUND.check(self.bound, "bound")
        check_patience(self.patience)

    def start(
        self, members: frozenset[str], seed: int = 0, examples: Mapping[str, int] | None = None
    ) -> "Clocks[Any]":
        return Clocks(self, members)


class Clocks(Stateful, Generic[A]):
    """State of `bounded`: every worker's clock, and the slowest clock that is waited for."""

    STATE = (
        *("_clocks", "_live", "_workers_at", "_slowest", "_deadline", "_heard"),
        *("_left_out", "releases"),
    )

    weights = None

    def __init__(self, bounded: Bounded, members: frozenset[str]) -> None:
        self._bounded = bounded
        self._clocks = dict.fromkeys(members, 0)
        self._live = set(members)
        self._workers_at = {0: len(members)}  # number of live workers at each clock value
        self._slowest = 0
        self._deadline: float | None = None  # None while no worker is held
        self._heard: set[str] = set()  # senders since the first worker was held
        self._left_out = LeftOut()
        self.releases = 0

    def begin(self, now: float) -> None:
        pass

    def sent(self, node: str) -> None:
        pass

    def arrive(self, node: str, arrival: A, now: float) -> list[A] | None:
        self._advance(node)
        self._left_out.back(node)
        self._left_out.step()
        if self.holds(node) and self._deadline is None:
            self._deadline = now + self._bounded.patience
        if self._deadline is not None:
            self._heard.add(node)
        return [arrival]

    def failed(self, node: str, now: float) -> list[A] | None:
        return None

    def departed(self, node: str, now: float) -> list[A] | None:
        self._left_out.back(node)
        if node not in self._live:
            return None
        self._live.discard(node)
        self._heard.discard(node)
        self._workers_at[self._clocks[node]] -= 1
        if self._live and not self._workers_at[self._slowest]:
            self._catch_up()
        elif not any(
            number and clock > self._slowest + self._bounded.bound
            for clock, number in self._workers_at.items()
        ):
            self._deadline = None  # no worker is held any more
            self._heard.clear()
        return None

    def returned(self, node: str, now: float) -> None:
        """Count `node` again, from the slowest worker's clock if its own is behind."""
        if node not in self._live:
            self._revive(node, self._clocks[node])

    def holds(self, node: str) -> bool:
        return self._clocks.get(node, 0) > self._slowest + self._bounded.bound

    def deadline(self) -> float | None:
        return self._deadline

    def tick(self, now: float) -> list[A] | None:
        if self._deadline is not None and now >= self._deadline:
            silent = self._live - self._heard
            self._left_out.give_up(silent)
            for node in silent:
                self._workers_at[self._clocks[node]] -= 1
            self._live &= self._heard  # never empty: a held worker has sent a gradient
            self._catch_up()
            # a worker that came back meanwhile may hold others from here on: a new deadline
            self._heard = {node for node in self._live if self.holds(node)}
            self._deadline = now + self._bounded.patience if self._heard else None
        return None

    def give_up(self, nodes: Collection[str]) -> None:
        self._left_out.give_up(nodes)

    def take_left_out(self) -> list[LeftOutCount]:
        return self._left_out.take_left_out()

    def left_out(self) -> list[LeftOutCount]:
        return self._left_out.left_out()

    def _advance(self, node: str) -> None:
        """Move the clock of `node` on by one; a given-up worker continues at the slowest clock."""
        clock = self._clocks.get(node, 0) + 1
        if node not in self._live:
            self._revive(node, clock)
            return
        self._workers_at[clock - 1] -= 1
        self._count(node, clock)

    def _revive(self, node: str, clock: int) -> None:
        """Count `node` among the live workers, at `clock` but not behind the slowest worker."""
        self._live.add(node)
        self._count(node, max(clock, self._slowest))

    def _count(self, node: str, clock: int) -> None:
        """Set the clock of `node`, a live worker; find the slowest clock if it has moved."""
        self._clocks[node] = clock
        self._workers_at[clock] = self._workers_at.get(clock, 0) + 1
        if not self._workers_at.get(self._slowest):
            self._catch_up()

    def _catch_up(self) -> None:
        """Find the new slowest clock, which releases every held worker.

        A held worker is exactly `bound` + 1 ahead of the slowest, so any rise of the slowest
        suffices.
        """
        while not self._workers_at.get(self._slowest):
            self._workers_at.pop(self._slowest, None)
            self._slowest += 1
        self._deadline = None
        self._heard.clear()
        self.releases += 1
