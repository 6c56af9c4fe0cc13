"""The split of a data set over devices, as a table of devices × classes and as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ScenarioError, first_of
from ...learning.datasets import Dataset, Description, OwnDataset, describe, load
from ...learning.datasets.split import AnySplit, Parts, owners_of, split_freely
from ..output import table
from ..plan.overview_tables import MOST_ROWS

if TYPE_CHECKING:
    from rich.table import Table

_MOST_COLUMNS = 16
"""Classes that a table has a column for; of more, the number that a device sees is shown."""
_RANGES = 5
"""Ranges of a regression's targets, with equally many training examples in each."""


@dataclass(frozen=True)
class DeviceShares:
    """A data set, and the positions of each device's training examples."""

    source: str | OwnDataset
    description: Description
    data: Dataset
    split: AnySplit
    seed: int
    parts: Parts

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the classes, or ranges of the first target; empty for texts."""
        task = self.description.task
        if task.regression:
            edges = [f"{edge:.3g}" for edge in self._edges]
            return tuple(f"{low} … {high}" for low, high in pairwise(edges))
        if task.answers:
            return ()
        return self.data.class_names or tuple(map(str, range(task.classes)))

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Number of examples [devices, columns]."""
        shares = np.zeros((len(self.parts), len(self.columns)), np.int64)
        if self.columns:
            kinds = self._columns_of_examples
            for row, own in zip(shares, self.parts.values(), strict=True):
                row += np.bincount(kinds[own], minlength=len(row))
        return shares

    @cached_property
    def _edges(self) -> NDArray[np.float64]:
        """Ends of the ranges of the first target."""
        targets = self.data.train.labels[:, 0]
        edges: NDArray[np.float64] = np.unique(np.quantile(targets, np.linspace(0, 1, _RANGES + 1)))
        return edges if len(edges) > 1 else np.repeat(edges, 2)

    @property
    def _columns_of_examples(self) -> NDArray[np.int64]:
        labels = self.data.train.labels
        if self.description.task.regression:
            inner = self._edges[1:-1]
            return np.searchsorted(inner, labels[:, 0], side="left").astype(np.int64)
        return labels.astype(np.int64)

    @cached_property
    def range(self) -> tuple[float, float]:
        """The least and the largest number in the training examples, as a model takes them."""
        train = self.data.train
        least, most = float(train.inputs.min()), float(train.inputs.max())
        return least / train.scale, most / train.scale

    @property
    def titles(self) -> list[str]:
        """Lines that say what the data set and the split are."""
        sizes, name = self.description.sizes, self.description.name
        lines = [
            f"{name}: {sizes['train']:,} training and {sizes['test']:,} test examples: "
            f"{self.description.task}"
        ]
        if isinstance(self.source, OwnDataset):
            lines.append(f"SHA-256 {self.source.sha256}")
        least, most = self.range
        lines.append(f"inputs: from {least:g} to {most:g}")
        lines += [f"note: {note}" for note in self.description.notes]
        devices = f"{len(self.parts):,} device{'s' * (len(self.parts) > 1)}"
        return [*lines, f"split {self.split.kind} over {devices}, seed {self.seed}"]

    def plain(self) -> dict[str, Any]:
        """Return the split as JSON types."""
        from ...plugins import plain

        task = self.description.task
        source: Mapping[str, Any] = {}
        if isinstance(self.source, OwnDataset):
            source = {"file": self.source.file, "sha256": self.source.sha256}
        devices = {
            name: {"examples": len(own), "counts": counts.tolist()}
            for (name, own), counts in zip(self.parts.items(), self.counts, strict=True)
        }
        return {
            "dataset": self.description.name,
            **source,
            "task": {"inputs": task.inputs, "shape": list(task.shape), "says": str(task)},
            "examples": dict(self.description.sizes),
            "range": list(self.range),
            "notes": list(self.description.notes),
            "split": plain(self.split),
            "seed": self.seed,
            "columns": list(self.columns),
            "devices": devices,
        }

    def table(self) -> "Table":
        """Return a table with a row for each device."""

        few = len(self.columns) <= _MOST_COLUMNS
        heads = self.columns if few else (f"classes of {len(self.columns)}", "largest class")
        made = table("device", "examples", *heads)
        for number, (name, own) in enumerate(self.parts.items()):
            if number == MOST_ROWS:
                break
            counts = self.counts[number]
            cells = counts.tolist() if few else [np.count_nonzero(counts), counts.max()]
            made.add_row(name, f"{len(own):,}", *(f"{cell:,}" for cell in cells))
        return made

    @property
    def more(self) -> str:
        """Line about the devices that the table leaves out; empty if there are none."""
        left = len(self.parts) - MOST_ROWS
        return f"and {left:,} more: --json lists all" if left > 0 else ""

    def require_examples(self) -> None:
        """Raise ScenarioError if a device has no example."""
        empty = [name for name, own in self.parts.items() if not len(own)]
        if empty:
            raise ScenarioError(
                f"{self.split.kind} leaves {first_of(empty, 3)} without an example: take "
                "fewer devices or another split"
            )


def shared(
    source: str | OwnDataset, split: AnySplit, devices: Sequence[str], seed: int
) -> DeviceShares:
    """Split the data set `source` over `devices`. Raises DataError or ScenarioError."""
    data = load(source)
    try:
        owners = owners_of(split, data)
        parts = split_freely(split, data.train.labels, devices, seed, owners)
    except ValueError as error:
        raise ScenarioError(f"training.split: {error}") from error
    return DeviceShares(source, describe(source), data, split, seed, parts)
