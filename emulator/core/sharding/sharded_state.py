"""The model of a server with shards: a State made of the States of the shards."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...optimizers.base import OptimizerState
from ...vectors import Gradient, Vector
from ..server.parameters import Parameters, joined_optimizer_states


class ShardedState:
    """Makes each step at every shard, with the shard's own modulation, optimizer and aggregation.

    With a part that treats each parameter on its own, as SGD, momentum, Adam, the mean and the
    history of AdaComp do, the model is that of one server. An aggregation that compares gradients
    by distances or norms compares the parts of each shard.
    """

    def __init__(self, parts: Sequence[Parameters]) -> None:
        """Hold the `parts` of the shards, in the order of the layers, all at one version."""
        self._parts = tuple(parts)
        ends = np.cumsum([part.theta.size for part in parts]).tolist()
        self._places = [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]
        self._whole: Vector | None = None  # the present version, once somebody has asked for it

    @property
    def parts(self) -> tuple[Parameters, ...]:
        """The state of each shard."""
        return self._parts

    @property
    def theta(self) -> Vector:
        """The parameters of all shards, f32[N]."""
        return self.snapshot()

    @property
    def version(self) -> int:
        return self._parts[0].version

    @property
    def oldest(self) -> int:
        return max(part.oldest for part in self._parts)

    @property
    def everywhere(self) -> bool:
        return any(part.everywhere for part in self._parts)

    def apply(
        self, arrivals: Sequence[tuple[Gradient, int]], weights: Sequence[float] | None = None
    ) -> list[float]:
        """Take one step at every shard, as `Parameters.apply`; return the mean divisors over all
        entries."""
        self._whole = None
        split = [(list(self._split(gradient)), version) for gradient, version in arrivals]
        divisors, entries = [], []
        for number, part in enumerate(self._parts):
            own = [(gradients[number], version) for gradients, version in split]
            divisors.append(part.apply(own, weights))
            entries.append([gradient.values.size for gradient, _ in own])
        return mean_divisors(divisors, np.array(entries))

    def _split(self, gradient: Gradient) -> Iterator[Gradient]:
        """Yield the part of `gradient` at each shard, with indices from the shard's start."""
        if gradient.indices is None:
            yield from (Gradient(gradient.values[place]) for place in self._places)
            return
        for place in self._places:
            first, last = gradient.indices.searchsorted([place.start, place.stop])
            indices = gradient.indices[first:last] - np.uint32(place.start)
            yield Gradient(gradient.values[first:last], indices)

    def snapshot(self) -> Vector:
        """Return the model of this version, as `Parameters.snapshot`."""
        if self._whole is None:
            self._whole = np.concatenate([part.theta for part in self._parts])
            self._whole.flags.writeable = False
        return self._whole

    def optimizer_state(self) -> OptimizerState:
        """Return the state of the optimizer over all parameters."""
        return joined_optimizer_states([part.optimizer_state() for part in self._parts])

    def forget(self, version: int, needed: Iterable[int] = ()) -> None:
        """Drop the history of every shard, as `Parameters.forget`."""
        versions = list(needed)
        for part in self._parts:
            part.forget(version, versions)

    def state(self) -> dict[str, Any]:
        """Return the state of every shard, as of a Stateful."""
        return {"parts": [part.state() for part in self._parts]}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from `state`, as a Stateful."""
        self._whole = None
        for part, own in zip(self._parts, state["parts"], strict=True):
            part.restore(own)


def mean_divisors(divisors: Sequence[Sequence[float]], entries: NDArray[np.int64]) -> list[float]:
    """Return the mean divisor of each update over all of its entries.

    `divisors` and `entries` have a row for each shard, and in it a number for each update.
    """
    weighted, counts = np.multiply(divisors, entries).sum(axis=0), np.sum(entries, axis=0)
    # an update without entries has the same divisor at every shard
    means = np.divide(weighted, counts, out=np.array(divisors[0]), where=counts > 0)
    return [float(mean) for mean in means]
