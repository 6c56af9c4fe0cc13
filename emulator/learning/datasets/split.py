"""Splits of a data set over devices, even or uneven.

A split is a partition drawn from the seed alone: no two devices share an example. One more device
changes every part.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ... import chance
from ...errors import first_of
from ...units import AtLeast, Checked
from .examples import Array
from .store import Dataset

Labels: TypeAlias = Array
Indices: TypeAlias = NDArray[np.int64]
Parts: TypeAlias = dict[str, Indices]
"""Numbers of each device's examples, in no meaningful order."""


@dataclass(frozen=True)
class Iid:
    """Even split: every device gets equally many examples, chosen at random."""

    kind: Literal["iid"] = "iid"

    def split(self, labels: Labels, devices: Sequence[str], seed: int) -> Parts:
        """Return equal parts; a remainder smaller than the number of devices is left out."""
        order = chance.stream(chance.data_split(seed)).permutation(len(labels))
        return dict(zip(devices, _equal(order, len(devices)), strict=True))


_PER_DEVICE = AtLeast(1)


def _check_alpha(alpha: float) -> None:
    """Raise ValueError unless 0 < `alpha` <= 1e9."""
    if not 0 < alpha <= 1e9:
        raise ValueError(f"alpha is {alpha:g}: write a number above 0 and up to 1e9")


_Alpha: TypeAlias = Annotated[float, Checked(_check_alpha)]


@dataclass(frozen=True)
class Shards:
    """Split by class: examples sorted by class are cut into shards, which are shuffled.

    Every device sees few classes: the pathological split of McMahan et al. (2017), with two shards
    for each device.
    """

    kind: Literal["shards"] = "shards"
    per_device: Annotated[int, _PER_DEVICE] = 2
    """Number of shards for each device, about its number of classes."""

    def __post_init__(self) -> None:
        _PER_DEVICE.check(self.per_device, "per_device")

    def split(self, labels: Labels, devices: Sequence[str], seed: int) -> Parts:
        """Return equal parts; a remainder smaller than the number of shards is left out."""
        # more shards than examples leave every device empty: do not allocate them
        if self.per_device * len(devices) > len(labels):
            return dict.fromkeys(devices, np.empty(0, np.int64))
        rng = chance.stream(chance.data_split(seed))
        shuffled = rng.permutation(len(labels))
        by_class = shuffled[np.argsort(labels[shuffled], kind="stable")]
        shards = _equal(by_class, self.per_device * len(devices))
        assigned = rng.permutation(shards).reshape(len(devices), -1)
        return dict(zip(devices, assigned, strict=True))


@dataclass(frozen=True)
class Dirichlet:
    """Uneven split by class proportions (Yurochkin et al., 2019).

    Every device has its own mixture of classes and number of examples. The examples of each class
    are split over the devices, in proportions drawn from a Dirichlet distribution with parameter
    `alpha` for each device.
    """

    kind: Literal["dirichlet"] = "dirichlet"
    alpha: _Alpha = 0.5
    """Parameter of the Dirichlet distribution. Small: few devices share a class. Large: even
    split."""

    def __post_init__(self) -> None:
        _check_alpha(self.alpha)

    def split(self, labels: Labels, devices: Sequence[str], seed: int) -> Parts:
        """Return parts that hold every example; a device may get very few examples, or none."""
        rng = chance.stream(chance.data_split(seed))
        assigned: list[list[Indices]] = [[] for _ in devices]
        for label in np.unique(labels):
            of_class = rng.permutation(np.flatnonzero(labels == label))
            shares = rng.dirichlet(np.full(len(devices), self.alpha))
            cuts = np.rint(np.cumsum(shares)[:-1] * len(of_class)).astype(int)
            for own, piece in zip(assigned, np.split(of_class, cuts), strict=True):
                own.append(piece)
        return dict(zip(devices, map(np.concatenate, assigned), strict=True))


@dataclass(frozen=True)
class Mixture:
    """Equal parts, each with its own mixture of classes (Hsu et al., 2019).

    A device's mixture is drawn from Dirichlet(alpha · p), with the shares p of the classes, and the
    class of each example is drawn from the mixture.
    """

    kind: Literal["mixture"] = "mixture"
    alpha: _Alpha = 0.5
    """Concentration of the mixtures. Small: a device sees few classes. Large: near the data set."""

    def __post_init__(self) -> None:
        _check_alpha(self.alpha)

    def split(self, labels: Labels, devices: Sequence[str], seed: int) -> Parts:
        """Return equal parts; a remainder smaller than the number of devices is left out.

        No example is used twice, so classes run out, which the paper leaves open. Here devices draw
        in random order, and p counts the examples left: an exhausted class is removed from every
        mixture, and the other shares grow (as in Reddi et al., 2021, appendix).
        """
        rng = chance.stream(chance.data_split(seed))
        remaining = [
            rng.permutation(np.flatnonzero(labels == label)).tolist() for label in np.unique(labels)
        ]
        part_size = len(labels) // len(devices)
        assigned = {
            int(device): np.array(self._draw(part_size, remaining, rng), np.int64)
            for device in rng.permutation(len(devices))
        }
        return {name: assigned[number] for number, name in enumerate(devices)}

    def _draw(self, size: int, remaining: list[list[int]], rng: np.random.Generator) -> list[int]:
        """Take `size` examples for a device out of those `remaining` of each class."""
        drawn: list[int] = []
        shares = np.zeros(len(remaining))
        bounds: list[float] = []
        for draw in rng.random(size).tolist():
            if not bounds:
                # Without an exhausted class, a Dirichlet distribution is again a Dirichlet
                # distribution, of the other classes: renormalize. If the device had no other
                # class, it draws a new mixture of the remaining classes.
                shares[[not examples for examples in remaining]] = 0
                if not shares.any():
                    shares = self._mixture(remaining, rng)
                sums = np.cumsum(shares)
                bounds = (sums / sums[-1]).tolist()  # the last is 1, above every draw
            chosen = remaining[bisect_right(bounds, draw)]
            drawn.append(chosen.pop())
            if not chosen:
                bounds = []
        return drawn

    def _mixture(self, remaining: list[list[int]], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw the shares of classes from Dirichlet(alpha · p); p counts the `remaining`
        examples."""
        counts = np.array([len(examples) for examples in remaining])
        (present,) = np.nonzero(counts)
        # alpha · p must not round to zero, where the Dirichlet distribution is not defined
        law = np.maximum(self.alpha * (counts[present] / counts.sum()), np.finfo(float).tiny)
        shares = np.zeros(len(remaining))
        shares[present] = rng.dirichlet(law)
        return shares


@dataclass(frozen=True)
class QuantitySkew:
    """Uneven split by number: every device has the same mixture of classes (Li et al., 2022).

    The numbers of examples are drawn from a Dirichlet distribution with parameter `alpha` for each
    device, and the examples at random.
    """

    kind: Literal["quantity"] = "quantity"
    alpha: _Alpha = 0.5
    """Parameter of the Dirichlet distribution. Small: few devices have most examples. Large: equal
    numbers."""

    def __post_init__(self) -> None:
        _check_alpha(self.alpha)

    def split(self, labels: Labels, devices: Sequence[str], seed: int) -> Parts:
        """Return parts that hold every example; a device may get very few examples, or none."""
        rng = chance.stream(chance.data_split(seed))
        order = rng.permutation(len(labels))
        shares = rng.dirichlet(np.full(len(devices), self.alpha))
        cuts = np.rint(np.cumsum(shares)[:-1] * len(labels)).astype(int)
        return dict(zip(devices, np.split(order, cuts), strict=True))


@dataclass(frozen=True)
class Owners:
    """Split by owner, as the writers of LEAF (Caldas et al., 2018): no owner has two devices."""

    kind: Literal["owners"] = "owners"
    file: str | None = None
    """Path of a text file, from the scenario's folder, or in an option from the working directory,
    that names the owner of an example in each line, in the order of the data. Without `file`, the
    data set names the owners."""

    def assign(self, owners: Array, devices: Sequence[str], seed: int) -> Parts:
        """Return the examples of each device by the `owners` of all examples.

        A device bears the name of its owner, or owners are shuffled and dealt in turns. Raises
        ValueError if there are fewer owners than devices.
        """
        names, numbers = np.unique(owners, return_inverse=True)
        if len(names) < len(devices):
            raise ValueError(
                f"{len(names)} owners have the examples, and there are {len(devices)} devices: "
                "take a device for each owner, or fewer"
            )
        dealt: dict[str, Indices] = {}
        if set(names.tolist()) == set(devices):
            places = {name: place for place, name in enumerate(names.tolist())}
            dealt = {device: np.array([places[device]]) for device in devices}
        else:
            order = chance.stream(chance.data_split(seed)).permutation(len(names))
            dealt = {device: order[turn :: len(devices)] for turn, device in enumerate(devices)}
        return {name: np.flatnonzero(np.isin(numbers, own)) for name, own in dealt.items()}


_ALIKE: Mapping[str, int] = {}

BY_CLASS: tuple[str, ...] = (Shards.kind, Dirichlet.kind, Mixture.kind)
"""Kinds of splits that go by the classes of the examples."""

AnySplit: TypeAlias = Iid | Shards | Dirichlet | Mixture | QuantitySkew | Owners
"""Schema of a scenario's `split:`."""


def parts(
    split: AnySplit,
    labels: Labels,
    devices: Sequence[str],
    seed: int,
    *,
    batch_size: int,
    batch_sizes: Mapping[str, int] = _ALIKE,
    owners: Array | None = None,
) -> Parts:
    """Split the examples with these `labels`; return the numbers of each device's examples.

    A device's mini-batch is in `batch_sizes`, or else has `batch_size` examples. `owners` names the
    owner of each example, if the examples have owners.

    Raises ValueError if a device would have less than a batch (with the devices' names), or if
    `split` goes by classes or owners and the examples have none.
    """
    split_parts = split_freely(split, labels, devices, seed, owners)
    too_few = [
        device
        for device, numbers in split_parts.items()
        if len(numbers) < batch_sizes.get(device, batch_size)
    ]
    if too_few:
        named = first_of([f"{device} ({len(split_parts[device])})" for device in too_few], 3)
        size = max(batch_sizes.get(device, batch_size) for device in too_few)
        raise ValueError(
            f"{split.kind} leaves {named} without a batch of {size}"
            " examples: take fewer devices, smaller batches or another split"
        )
    return split_parts


def split_freely(
    split: AnySplit, labels: Labels, devices: Sequence[str], seed: int, owners: Array | None
) -> Parts:
    """Split as `parts` does, also where a device gets no batch of examples."""
    if isinstance(split, Owners):
        if owners is None:
            raise ValueError(
                "owners goes by the owner of an example, which the data set does not name: write "
                "`owners: COLUMN` in `dataset`, or `split: {kind: owners, file: …}`"
            )
        return split.assign(owners, devices, seed)
    if labels.ndim > 1 and split.kind in BY_CLASS:
        raise ValueError(
            f"{split.kind} goes by the class of an example, and the examples have none"
        )
    return split.split(labels, devices, seed)


def _equal(examples: Indices, rows: int) -> Indices:
    """Return `examples` as rows [rows, examples // rows], without the remainder."""
    width = len(examples) // rows
    return examples[: width * rows].reshape(rows, width)


def owners_of(split: AnySplit, data: Dataset) -> Array | None:
    """Return the owner of each training example of `data` for `split`; None without owners.

    Raises ValueError if the file of `split` cannot be read, has an empty line, or another number of
    lines than the data has examples.
    """
    if not isinstance(split, Owners) or split.file is None:
        return data.owners
    try:
        lines = Path(split.file).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ValueError(f"{split.file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{split.file} is no text: {error}") from error
    names = [line.strip() for line in lines]
    if "" in names:
        raise ValueError(f"{split.file}:{names.index('') + 1}: is empty: an owner was expected")
    held_out = 0 if data.rows is None else len(data.test)
    if len(names) != (examples := len(data.train) + held_out):
        both = f", {held_out:,} of them for the test" if held_out else ""
        raise ValueError(
            f"{split.file} has {len(names):,} lines, and {data.name} {examples:,} examples{both}"
        )
    owners = np.array(names)
    return owners if data.rows is None else owners[data.rows]
