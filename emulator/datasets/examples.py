"""Labelled images as they are stored: bytes, made into floats one batch at a time."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Examples:
    """Images and their classes; either may be mapped from a file."""

    images: Bytes
    """[examples, height, width]"""
    labels: Bytes
    """[examples]"""
    white: int
    """The brightest level that a pixel can have."""

    def __post_init__(self) -> None:
        if len(self.images) != len(self.labels):
            raise ValueError(f"{len(self.images)} images have {len(self.labels)} labels")

    def __len__(self) -> int:
        return len(self.labels)

    def batch(
        self, which: slice | NDArray[np.integer[Any]]
    ) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """Those examples as a model takes them: f32 [batch, pixels] in [0, 1], i32 [batch]."""
        labels = self.labels[which].astype(np.int32)
        pixels = self.images[which].reshape(len(labels), -1)
        return np.divide(pixels, np.float32(self.white), dtype=np.float32), labels

    def take(self, which: NDArray[np.integer[Any]]) -> "Examples":
        return Examples(self.images[which], self.labels[which], self.white)


@dataclass(frozen=True, eq=False)
class Part:
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
