"""Value codings: ways to write the values of a sparse gradient.

To add a coding: write a file, name it here, and add a row to the tests' table. A lossy coding
rounds; an encoder with a residual therefore decodes its own frames.
"""

from typing import Literal, Protocol, TypeAlias

from ...layout import Layout
from ...vectors import Frames, Indices, Vector
from . import bf16, f16, f32, int8, ternary
from .grouping import CodedValues

ValueCoding: TypeAlias = Literal["f32", "f16", "bf16", "int8", "ternary"]


class ValueCoder(Protocol):
    """A way to write finite, non-zero values; a module or an object."""

    FRAMES: int
    """Number of frames: the codes, and the scales if there are any."""

    def encode(self, values: Vector, indices: Indices, layout: Layout) -> CodedValues:
        """Return the frames of `values` at `indices`, without values that would decode to zero."""

    def entries(self, frames: Frames) -> int:
        """Return the number of values in `frames`, from their lengths. Raises WireError."""

    def decode(self, frames: Frames, indices: Indices, layout: Layout) -> Vector:
        """Return `entries(frames)` finite, non-zero values, in the order of `indices`.

        Raises WireError if `encode` cannot have written the frames.
        """


CODINGS: dict[ValueCoding, ValueCoder] = {
    "f32": f32,
    "f16": f16,
    "bf16": bf16,
    "int8": int8,
    "ternary": ternary,
}

__all__ = ["CODINGS", "CodedValues", "ValueCoder", "ValueCoding"]
