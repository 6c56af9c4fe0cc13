"""Labelled examples, stored compactly and converted to floats one batch at a time."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Examples:
    """Inputs and labels of equal number; either array may be mapped from a file."""

    inputs: Array
    """Images [examples, height, width] or [examples, height, width, channels], uint8, or
    uint16 and int32 for more levels; character
    codes of texts [examples, length], uint8; token ids [examples, length], whole numbers of any
    type; vectors [examples, numbers], float32."""
    labels: Array
    """Classes [examples], or codes of the next characters [examples, length], whole numbers of any
    type; targets of a regression [examples, targets], float32."""
    scale: int
    """Divisor of the inputs: the brightest level of images; 1 leaves all other inputs unchanged."""

    def __post_init__(self) -> None:
        if len(self.inputs) != len(self.labels):
            raise ValueError(f"{len(self.inputs)} inputs have {len(self.labels)} labels")

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def answers(self) -> int:
        """Number of answers: one for a class, one for each character of a text, one for each target
        of a regression."""
        return self.labels.size

    def batch(
        self, which: slice | NDArray[np.integer[Any]]
    ) -> tuple[NDArray[np.float32], NDArray[Any]]:
        """Return the examples `which` as a model takes them: inputs and labels.

        Inputs are float32 [batch, values], flat: the pixels of images in [0, 1], the codes of
        characters, token ids, or the numbers of vectors. Labels are int32 [batch], for texts
        int32 [batch, length], for a regression float32 [batch, targets].
        """
        chosen = self.labels[which]
        labels = chosen.astype(np.float32 if chosen.dtype.kind == "f" else np.int32)
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
    ) -> tuple[NDArray[np.float32], NDArray[Any]]:
        """Return the subset's examples at positions `which`, as `Examples.batch` does."""
        return self.whole.batch(self.which[which])
