"""How a data set is split over devices: evenly, or as unevenly as the world is.

Each split is a partition drawn from the seed alone: no two devices share an example. One more
device changes every part, as it must.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import chance

Labels: TypeAlias = NDArray[np.uint8]
Indices: TypeAlias = NDArray[np.int64]
Parts: TypeAlias = dict[str, Indices]
"""Which examples each device has, in no meaningful order."""


@dataclass(frozen=True)
class Iid:
    """Every device sees the same law: the examples are shuffled and dealt out."""

    kind: Literal["iid"] = "iid"

    def split(self, labels: Labels, devices: Sequence[str], seed: int) -> Parts:
        """As many for each; a remainder smaller than the number of devices is left out."""
        order = chance.stream(chance.data_split(seed)).permutation(len(labels))
        return dict(zip(devices, _equal(order, len(devices)), strict=True))


@dataclass(frozen=True)
class Shards:
    """Every device sees few classes: sorted by class, cut into shards, and these dealt out.

    The pathological split of McMahan et al. (2017), who deal two shards to each.
    """

    kind: Literal["shards"] = "shards"
    per_device: int = 2
    """Shards for each device: about as many classes."""

    def __post_init__(self) -> None:
        if self.per_device < 1:
            raise ValueError(f"per_device is {self.per_device}: a device has at least one shard")

    def split(self, labels: Labels, devices: Sequence[str], seed: int) -> Parts:
        """As many for each; a remainder smaller than the number of shards is left out."""
        if self.per_device * len(devices) > len(labels):  # so many take too much memory
            return dict.fromkeys(devices, np.empty(0, np.int64))
        rng = chance.stream(chance.data_split(seed))
        shuffled = rng.permutation(len(labels))
        by_class = shuffled[np.argsort(labels[shuffled], kind="stable")]
        shards = _equal(by_class, self.per_device * len(devices))
        hands = rng.permutation(shards).reshape(len(devices), -1)
        return dict(zip(devices, hands, strict=True))


@dataclass(frozen=True)
class Dirichlet:
    """Every device has a mixture of classes and an amount of its own (Yurochkin et al., 2019).

    The examples of each class are split over the devices, in proportions drawn from a Dirichlet law
    that has `alpha` for each device.
    """

    kind: Literal["dirichlet"] = "dirichlet"
    alpha: float = 0.5
    """Small: a class belongs to few devices. Large: the mixtures become the same."""

    def __post_init__(self) -> None:
        _check_alpha(self.alpha)

    def split(self, labels: Labels, devices: Sequence[str], seed: int) -> Parts:
        """Every example is someone's; a device may get very few, or none."""
        rng = chance.stream(chance.data_split(seed))
        hands: list[list[Indices]] = [[] for _ in devices]
        for label in np.unique(labels):
            members = rng.permutation(np.flatnonzero(labels == label))
            shares = rng.dirichlet(np.full(len(devices), self.alpha))
            cuts = np.rint(np.cumsum(shares)[:-1] * len(members)).astype(int)
            for hand, part in zip(hands, np.split(members, cuts), strict=True):
                hand.append(part)
        return dict(zip(devices, map(np.concatenate, hands), strict=True))


@dataclass(frozen=True)
class Mixture:
    """Every device has as many examples, in a mixture of classes of its own (Hsu et al., 2019).

    A device's mixture is drawn from Dirichlet(alpha · p), `p` being the shares of the classes, and
    the class of each of its examples from the mixture.
    """

    kind: Literal["mixture"] = "mixture"
    alpha: float = 0.5
    """Small: a device sees few classes. Large: the mixtures become that of the data set."""

    def __post_init__(self) -> None:
        _check_alpha(self.alpha)

    def split(self, labels: Labels, devices: Sequence[str], seed: int) -> Parts:
        """As many for each; a remainder smaller than the number of devices is left out.

        No example is dealt twice, so classes run out, which the paper leaves open. Here devices
        take their turns in random order, and `p` counts what is left: a class that has run out is
        left out of every mixture, whose other shares grow (as in Reddi et al., 2021, appendix).
        """
        rng = chance.stream(chance.data_split(seed))
        left = [
            rng.permutation(np.flatnonzero(labels == label)).tolist() for label in np.unique(labels)
        ]
        each = len(labels) // len(devices)
        hands = {
            int(device): np.array(self._draw(each, left, rng), np.int64)
            for device in rng.permutation(len(devices))
        }
        return {name: hands[number] for number, name in enumerate(devices)}

    def _draw(self, size: int, left: list[list[int]], rng: np.random.Generator) -> list[int]:
        """Take `size` examples for one device out of what is `left` of each class."""
        hand: list[int] = []
        shares = np.zeros(len(left))
        bounds: list[float] = []
        for draw in rng.random(size).tolist():
            if not bounds:
                # A Dirichlet law without a class that has run out is the law of the others. So a
                # device that had no other class draws its mixture anew, of those that remain.
                shares[[not examples for examples in left]] = 0
                if not shares.any():
                    shares = self._mixture(left, rng)
                sums = np.cumsum(shares)
                bounds = (sums / sums[-1]).tolist()  # the last is 1, above every draw
            chosen = left[bisect_right(bounds, draw)]
            hand.append(chosen.pop())
            if not chosen:
                bounds = []
        return hand

    def _mixture(self, left: list[list[int]], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw the share of each class from Dirichlet(alpha · p), `p` of what is `left`."""
        counts = np.array([len(examples) for examples in left])
        (some,) = np.nonzero(counts)
        # alpha · p must not be rounded to zero, of which there is no Dirichlet law
        law = np.maximum(self.alpha * (counts[some] / counts.sum()), np.finfo(float).tiny)
        shares = np.zeros(len(left))
        shares[some] = rng.dirichlet(law)
        return shares


def _check_alpha(alpha: float) -> None:
    if not 0 < alpha <= 1e9:
        raise ValueError(f"alpha is {alpha:g}: it is above 0, and 1e9 at most")


AnySplit: TypeAlias = Iid | Shards | Dirichlet | Mixture
"""The schema of a scenario's `split:`."""


def parts(
    split: AnySplit, labels: Labels, devices: Sequence[str], seed: int, *, batch_size: int
) -> Parts:
    """Split; a ValueError names the devices that would not have a single batch, or says that
    there are no classes to split by."""
    if labels.ndim > 1 and not isinstance(split, Iid):
        raise ValueError(f"{split.kind} goes by the class of an example, which a text has not")
    split_up = split.split(labels, devices, seed)
    poor = [f"{device} ({len(own)})" for device, own in split_up.items() if len(own) < batch_size]
    if poor:
        others = f" and {len(poor) - 3} more" if len(poor) > 3 else ""
        raise ValueError(
            f"{split.kind} leaves {', '.join(poor[:3])}{others} without a batch of {batch_size}"
            " examples: take fewer devices, smaller batches or another split"
        )
    return split_up


def _equal(examples: Indices, hands: int) -> Indices:
    """[hands, each], without the remainder."""
    each = len(examples) // hands
    return examples[: each * hands].reshape(hands, each)
