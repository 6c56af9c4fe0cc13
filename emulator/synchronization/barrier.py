"""Synchronization `barrier`: a step is the mean of one gradient from each worker (BSP).

With a `quorum` below 100 % the slowest workers are not waited for (Chen et al., 2016). Unlike in
that paper, their gradients are not dropped but count in the next step.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import ceil
from typing import Annotated, Any, Generic, Literal

from ..plugins.stateful import Stateful
from ..units import Checked, Fraction, Seconds
from .base import A, LeftOut, LeftOutCount, Patience, check_patience


def _check_quorum(quorum: Fraction) -> None:
    if not 0 < quorum <= 1:
        raise ValueError(f"quorum is {quorum}: write a share above 0% and up to 100%")


@dataclass(frozen=True)
class Barrier:
    """Barrier: one gradient from `quorum` of the live workers makes a step.

    Bulk synchronous parallel; with a smaller quorum as Chen et al. (2016). Once `patience` has
    passed since the first gradient of a step, the missing workers are given up: the step is made
    without them, and a given-up worker is not waited for again until it sends a gradient.
    """

    quorum: Annotated[Fraction, Checked(_check_quorum)] = Fraction(1)
    """Share of the live workers that makes a step, rounded up to whole workers."""
    patience: Patience = Seconds(60)
    """Time after the first gradient of a step until the missing workers are given up."""
    kind: Literal["barrier"] = "barrier"

    def __post_init__(self) -> None:
        _check_quorum(self.quorum)
        check_patience(self.patience)

    def needed(self, live: int) -> int:
        """Return the number of gradients that make a step of `live` workers."""
        # decimal arithmetic: in binary 0.07 · 100 exceeds 7, and ceil gives 8
        return ceil(Decimal(repr(float(self.quorum))) * live)

    def start(
        self, members: frozenset[str], seed: int = 0, examples: Mapping[str, int] | None = None
    ) -> "Lockstep[Any]":
        return Lockstep(self, members)


class Lockstep(Stateful, Generic[A]):
    """State of a barrier: the arrived gradients, and the workers given up."""

    STATE = ("_given_up", "_departed", "_arrivals", "_deadline", "_left_out", "releases")

    weights = None

    def __init__(self, barrier: Barrier, members: frozenset[str]) -> None:
        self._barrier = barrier
        self._members = members
        self._given_up: set[str] = set()
        self._departed: set[str] = set()  # gone, but with a gradient in `_arrivals`
        self._arrivals: dict[str, A] = {}
        self._deadline: float | None = None
        self._left_out = LeftOut()
        self.releases = 0

    def begin(self, now: float) -> None:
        pass

    def sent(self, node: str) -> None:
        pass

    def arrive(self, node: str, arrival: A, now: float) -> list[A] | None:
        """Take a gradient. A node's second gradient before the step replaces its first."""
        self._given_up.discard(node)
        self._left_out.back(node)
        if not self._arrivals:
            self._deadline = now + self._barrier.patience
        self._arrivals[node] = arrival
        return self._step() if self._complete else None

    def failed(self, node: str, now: float) -> list[A] | None:
        return None

    def departed(self, node: str, now: float) -> list[A] | None:
        if node in self._arrivals:
            self._departed.add(node)  # counts in this step, and is given up behind it
        self._left_out.back(node)
        return self.leave(node)

    def returned(self, node: str, now: float) -> None:
        self._given_up.discard(node)
        self._departed.discard(node)

    def holds(self, node: str) -> bool:
        return node in self._arrivals

    def deadline(self) -> float | None:
        return self._deadline

    def tick(self, now: float) -> list[A] | None:
        if self._deadline is None or now < self._deadline:
            return None
        missing = set(self._members.difference(self._arrivals))
        # devices that left, or that wait at the cut of a model, are not late
        self._left_out.give_up(missing - self._given_up)
        self._given_up = missing
        return self._step()

    def expect(self, nodes: Collection[str]) -> None:
        """Wait for `nodes`, and for no other worker before its next gradient."""
        self._given_up = set(self._members.difference(nodes, self._arrivals))

    def leave(self, node: str) -> list[A] | None:
        """Wait for `node` no more in this step; return as `arrive`.

        A gradient that has arrived stays.
        """
        if node not in self._arrivals:
            self._given_up.add(node)
        return self._step() if self._arrivals and self._complete else None

    def give_up(self, nodes: Collection[str]) -> None:
        self._left_out.give_up(nodes)

    def take_left_out(self) -> list[LeftOutCount]:
        return self._left_out.take_left_out()

    def left_out(self) -> list[LeftOutCount]:
        return self._left_out.left_out()

    @property
    def _complete(self) -> bool:
        """Whether enough gradients have arrived for a step."""
        live = len(self._members) - len(self._given_up)
        return len(self._arrivals) >= self._barrier.needed(live)

    def _step(self) -> list[A]:
        """Return the arrived gradients as the next step, and release the workers."""
        arrivals = list(self._arrivals.values())
        self._arrivals.clear()
        self._given_up |= self._departed
        self._departed.clear()
        self._deadline = None
        self._left_out.step()
        self.releases += 1
        return arrivals
