"""Examples as a source of data gives them, before any check of their values."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ..examples import Array
from .data_mistakes import Place
from .own_dataset import Kind


class Places(Protocol):
    """Places of the examples of a part, for messages; without a row, of all of them."""

    def input(self, row: int | None = None, position: int | None = None) -> Place:
        """Return the place of the input `row`, or of the number at a flat `position` in it."""

    def label(self, row: int | None = None) -> Place:
        """Return the place of the label `row`."""


class GivenOwners(NamedTuple):
    """Owners of the training examples, and the place of each for messages; of all without a row."""

    names: Array
    at: Callable[[int | None], Place]


class GivenPart(NamedTuple):
    """The training set or the test set: inputs and labels of any type and number."""

    inputs: Array
    labels: Array
    places: Places


@dataclass(frozen=True)
class ReadData:
    """A training set, a test set or None, and the owners of the training examples."""

    train: GivenPart
    test: GivenPart | None
    owners: GivenOwners | None = None
    """None if the data set names no owners."""
    class_names: tuple[str, ...] = ()
    """Names of the classes, if labels are already their numbers."""
    kind: Kind | None = None
    """Kind of inputs, unless the scenario says another; None: it follows from shape and type."""
