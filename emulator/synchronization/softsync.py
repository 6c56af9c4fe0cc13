"""Synchronization `softsync`: a step for every few gradients (n-softsync; Zhang et al., 2016).

Once ⌊λ/n⌋ gradients of the λ workers are in, θ moves by their mean, whichever workers sent them. n
= 1 waits for as many gradients as there are workers, n = λ is asynchronous. A worker that has said
goodbye does not count in λ. With the modulation
`staleness` each gradient is divided by its own staleness, in steps, before the mean is taken.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal

from ..plugins.stateful import Stateful
from ..units import AtLeast
from .base import A

_SPLITS = AtLeast(1)


@dataclass(frozen=True)
class Softsync:
    """n-softsync: a step is the mean of ⌊workers / splits⌋ gradients, at least one.

    Zhang et al. (2016). No worker waits.
    """

    splits: Annotated[int, _SPLITS] = 1
    """Steps in the time in which every worker sends one gradient: the paper's n."""
    kind: Literal["softsync"] = "softsync"

    def __post_init__(self) -> None:
        _SPLITS.check(self.splits, "splits")

    def start(
        self, members: frozenset[str], seed: int = 0, examples: Mapping[str, int] | None = None
    ) -> "Collecting[Any]":
        return Collecting(len(members), self.splits)


class Collecting(Stateful, Generic[A]):
    """State of `softsync`: the gradients so far; several may be from one worker."""

    STATE = ("_away", "_arrivals")

    releases = 0
    weights = None

    def __init__(self, workers: int, splits: int) -> None:
        """Make `splits` steps in the time in which each of the `workers` sends one gradient."""
        self._workers, self._splits = workers, splits
        self._away: set[str] = set()  # workers that have said goodbye
        self._arrivals: list[A] = []

    def begin(self, now: float) -> None:
        pass

    def sent(self, node: str) -> None:
        pass

    def arrive(self, node: str, arrival: A, now: float) -> list[A] | None:
        self._arrivals.append(arrival)
        return self._step()

    def failed(self, node: str, now: float) -> list[A] | None:
        return None

    def departed(self, node: str, now: float) -> list[A] | None:
        """Count `node` as a worker no more: a step needs fewer gradients."""
        self._away.add(node)
        return self._step()

    def returned(self, node: str, now: float) -> None:
        self._away.discard(node)

    def _step(self) -> list[A] | None:
        """Return the gradients so far if a step needs no more; else None."""
        needed = max(1, (self._workers - len(self._away)) // self._splits)
        if len(self._arrivals) < needed:
            return None
        arrivals, self._arrivals = self._arrivals, []
        return arrivals

    def holds(self, node: str) -> bool:
        return False

    def deadline(self) -> float | None:
        return None

    def tick(self, now: float) -> list[A] | None:
        return None
