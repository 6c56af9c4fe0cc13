"""A codec trades fidelity for bytes: a gradient in, a few frames out, and back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..layout import Layout

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


class Count(NamedTuple):
    """Bytes of an encoded gradient by what they hold; their sum is the length of its frames."""

    values: int
    indices: int
    headers: int


class Codec(Protocol):
    """Frozen, shared by all devices; what a device must remember lives in a wrapper."""

    def encode(self, gradient: Vector, layout: Layout) -> Frames:
        """The frames that travel; they share no memory with the gradient.

        Raises NotFinite if an entry is not, ValueError if the gradient does not fit the layout.
        """

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        """What the frames say; a WireError if they are not what `encode` could have made."""

    def count(self, frames: Frames) -> Count:
        """What the bytes of well-formed frames hold."""


class Encoder(Protocol):
    """What a device's worker holds: a codec bound to a layout, with its memory if it has one."""

    def encode(self, gradient: Vector) -> Frames:
        """As `Codec.encode`; after a ValueError the memory is as it was before."""
