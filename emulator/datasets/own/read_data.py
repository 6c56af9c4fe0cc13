"""Examples as a source of data gives them, before any check of their values."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ..examples import Array
from .data_mistakes import Place


class Places(Protocol):
    """Places of the examples of a part, for messages; without a row, of all of them."""

    def input(self, row: int | None = None) -> Place: ...

    def label(self, row: int | None = None) -> Place: ...


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
