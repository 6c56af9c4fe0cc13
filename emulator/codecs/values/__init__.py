"""How values travel. To add a way: write its file, name it here, add its test row.

A lossy one says what it really sent: whoever keeps a residual decodes its own frames.
"""

from typing import Literal, Protocol, TypeAlias

from ...layout import Layout
from ...vectors import Frames, Indices, Vector
from . import bf16, f16, f32, int8, ternary
from .grouping import CodedValues

ValueCoding: TypeAlias = Literal["f32", "f16", "bf16", "int8", "ternary"]


class ValueCoder(Protocol):
    """One way to write finite values that are not zero; a module or an object."""

    FRAMES: int
    """Frames that it writes: the codes; and one of scales, if it has any."""

    def encode(self, values: Vector, indices: Indices, layout: Layout) -> CodedValues:
        """The values at these indices; what would be read as zero is left out."""

    def entries(self, frames: Frames) -> int:
        """How many values the frames hold, from their lengths; WireError if no such number."""

    def decode(self, frames: Frames, indices: Indices, layout: Layout) -> Vector:
        """The values at these `entries(frames)` indices: finite, none of them zero.

        A WireError if `encode` cannot have written the frames.
        """


CODINGS: dict[ValueCoding, ValueCoder] = {
    "f32": f32,
    "f16": f16,
    "bf16": bf16,
    "int8": int8,
    "ternary": ternary,
}

__all__ = ["CODINGS", "CodedValues", "ValueCoder", "ValueCoding"]
