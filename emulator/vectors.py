"""Types of the flat vectors that packages exchange: parameters, gradients, encoded frames."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float32]
"""One float32 for each parameter of the model, in the order of its layout."""
Indices: TypeAlias = NDArray[np.uint32]
"""Positions of parameters in the flat vector, ascending."""
Buffer: TypeAlias = bytes | memoryview
"""Bytes of one frame. A memoryview must have items of one byte, so that `len` counts bytes."""
Frames: TypeAlias = Sequence[Buffer]
"""The frames of one encoded gradient or model, in the order of their codec."""
LARGEST_F16 = np.float32(65_504)
"""Largest finite number of half precision; a larger value is sent as this one."""


@dataclass(frozen=True, eq=False)
class Gradient:
    """A decoded update: `values[i]` belongs to parameter `indices[i]`.

    `indices` ascend strictly and lie below the layout's size; None means all parameters. The arrays
    may be read-only views of the frames from which they were decoded.
    """

    values: Vector
    indices: Indices | None = None


class NotFinite(ValueError):
    """The gradient holds a NaN or an infinity: training diverged."""
