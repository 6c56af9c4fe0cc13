"""Types of the flat vectors that everything passes on: parameters, gradients, encoded frames."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float32]
Indices: TypeAlias = NDArray[np.uint32]
Buffer: TypeAlias = bytes | memoryview
"""A memoryview is one of plain bytes, so that `len` counts them."""
Frames: TypeAlias = Sequence[Buffer]


@dataclass(frozen=True, eq=False)
class Gradient:
    """A decoded update: `values[i]` belongs to parameter `indices[i]`.

    `indices` ascend strictly and lie below the layout's size; None means all of them.
    The arrays may be read-only views of the frames they came in.
    """

    values: Vector
    indices: Indices | None = None


class NotFinite(ValueError):
    """The gradient holds a NaN or an infinity: training diverged."""
