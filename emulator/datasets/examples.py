"""Labelled examples, stored as bytes and converted to floats one batch at a time."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Examples:
    """Inputs and labels of equal number; either array may be mapped from a file."""

    inputs: Bytes
    """Images [examples, height, width], or character codes of texts [examples, length]; uint8."""
    labels: Bytes
    """Classes [examples], or codes of the next characters [examples, length]; uint8."""
    scale: int
    """Divisor of the inputs: the brightest level of images; 1 leaves character codes unchanged."""

    def __post_init__(self) -> None:
        if len(self.inputs) != len(self.labels):
            raise ValueError(f"{len(self.inputs)} inputs have {len(self.labels)} labels")

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def answers(self) -> int:
        """Number of answers to get right: one for an image, one for each character of a text."""
        return self.labels.size

    def batch(
        self, which: slice | NDArray[np.integer[Any]]
    ) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """Return the examples `which` as a model takes them: inputs and labels.

        Images: float32 [batch, pixels] in [0, 1], and int32 [batch]. Texts: float32 [batch, length]
        with character codes, and int32 [batch, length].
        """
        labels = self.labels[which].astype(np.int32)
        values = self.inputs[which].reshape(len(labels), -1)
        return np.divide(values, np.float32(self.scale), dtype=np.float32), labels

    def take(self, which: NDArray[np.integer[Any]]) -> "Examples":
        """Return the examples with these numbers, as copies."""
        return Examples(self.inputs[which], self.labels[which], self.scale)


@dataclass(frozen=True, eq=False)
class Subset:
    """Examples of `whole` with the numbers `which`: the share of a device in shared memory."""

    whole: Examples
    which: NDArray[np.integer[Any]]

    def __len__(self) -> int:
        return len(self.which)

    def batch(
        self, which: slice | NDArray[np.integer[Any]]
    ) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """Return the subset's examples at positions `which`, as `Examples.batch` does."""
        return self.whole.batch(self.which[which])
