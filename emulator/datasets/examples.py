"""Labelled examples as they are stored: bytes, made into floats one batch at a time."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Examples:
    """Inputs and their labels; either may be mapped from a file."""

    inputs: Bytes
    """Images [examples, height, width], or the codes of texts' characters [examples, length]."""
    labels: Bytes
    """Classes [examples], or the code of the next character at each place [examples, length]."""
    scale: int
    """What a model sees inputs divided by: an image's brightest level; 1 leaves codes as they
    are."""

    def __post_init__(self) -> None:
        if len(self.inputs) != len(self.labels):
            raise ValueError(f"{len(self.inputs)} inputs have {len(self.labels)} labels")

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def answers(self) -> int:
        """How many there are to get right: an image asks for one, a text for one a character."""
        return self.labels.size

    def batch(
        self, which: slice | NDArray[np.integer[Any]]
    ) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """Those examples as a model takes them: f32 [batch, pixels] in [0, 1] and i32 [batch], or
        the characters' codes, f32 [batch, length] and i32 [batch, length]."""
        labels = self.labels[which].astype(np.int32)
        values = self.inputs[which].reshape(len(labels), -1)
        return np.divide(values, np.float32(self.scale), dtype=np.float32), labels

    def take(self, which: NDArray[np.integer[Any]]) -> "Examples":
        return Examples(self.inputs[which], self.labels[which], self.scale)


@dataclass(frozen=True, eq=False)
class Subset:
    """Some of the examples, by their numbers: what devices that share memory hold."""

    whole: Examples
    which: NDArray[np.integer[Any]]

    def __len__(self) -> int:
        return len(self.which)

    def batch(
        self, which: slice | NDArray[np.integer[Any]]
    ) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """As `Examples.batch`."""
        return self.whole.batch(self.which[which])
