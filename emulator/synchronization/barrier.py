"""Everybody waits: a step is the mean of one gradient from each (bulk synchronous, BSP).

With a `quorum` below 100 % the slowest are not waited for (Chen et al., 2016); unlike there,
their gradients are not dropped but count in the next step.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import ceil
from typing import Any, Generic, Literal

from ..units import Fraction, Seconds
from .base import A, check_patience


@dataclass(frozen=True)
class Barrier:
    """One gradient from `quorum` of the live members makes a step.

    Once `patience` has passed since the first of them, the others are given up: the step is
    made without them, and they are not waited for again until they send a gradient.
    """

    quorum: Fraction = Fraction(1)
    patience: Seconds = Seconds(60)
    kind: Literal["barrier"] = "barrier"

    def __post_init__(self) -> None:
        if not 0 < self.quorum <= 1:
            raise ValueError(f"quorum is {self.quorum}: write a share above 0% and up to 100%")
        check_patience(self.patience)

    def start(
        self, members: frozenset[str], seed: int = 0, examples: Mapping[str, int] | None = None
    ) -> "Lockstep[Any]":
        return Lockstep(self, members)


class Lockstep(Generic[A]):
    """Who is no longer waited for, and whose gradient is in."""

    weights = None

    def __init__(self, barrier: Barrier, members: frozenset[str]) -> None:
        self._barrier = barrier
        self._members = members
        self._given_up: set[str] = set()
        self._arrivals: dict[str, A] = {}
        self._deadline: float | None = None
        self.releases = 0

    def begin(self, now: float) -> None:
        pass

    def sent(self, node: str) -> None:
        pass

    def arrive(self, node: str, arrival: A, now: float) -> list[A] | None:
        """A node's second gradient before the step takes the place of its first."""
        self._given_up.discard(node)
        if not self._arrivals:
            self._deadline = now + self._barrier.patience
        self._arrivals[node] = arrival
        # decimal arithmetic: in binary 0.07 · 100 exceeds 7, and ceil gives 8
        needed = ceil(Decimal(repr(float(self._barrier.quorum))) * self._live)
        return self._step() if len(self._arrivals) >= needed else None

    def failed(self, node: str, now: float) -> list[A] | None:
        return None

    def holds(self, node: str) -> bool:
        return node in self._arrivals

    def deadline(self) -> float | None:
        return self._deadline

    def tick(self, now: float) -> list[A] | None:
        if self._deadline is None or now < self._deadline:
            return None
        self._given_up = set(self._members.difference(self._arrivals))
        return self._step()

    @property
    def _live(self) -> int:
        return len(self._members) - len(self._given_up)

    def _step(self) -> list[A]:
        arrivals = list(self._arrivals.values())
        self._arrivals.clear()
        self._deadline = None
        self.releases += 1
        return arrivals
