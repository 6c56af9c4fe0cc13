"""How a set of parameters travels. To add a way: write its file, name it here, add its test row."""

from typing import Literal, Protocol, TypeAlias

from ..base import Buffer, Indices
from . import gap, u32

IndexCoding: TypeAlias = Literal["gap", "u32"]


class Coding(Protocol):
    """One way to write strictly ascending indices as bytes; a module or an object."""

    def encode(self, indices: Indices, size: int) -> bytes:
        """The one spelling of these indices below `size`."""

    def decode(self, frame: Buffer, entries: int, size: int) -> Indices:
        """The `entries` indices below `size` that the bytes hold.

        `entries` was bounded by the caller. A WireError if `encode` cannot have written the
        frame: another length, an index out of order or out of range, a second spelling.
        """

    def header(self, frame: Buffer) -> int:
        """How many bytes of a well-formed frame say how the rest is to be read."""


CODINGS: dict[IndexCoding, Coding] = {"gap": gap, "u32": u32}

__all__ = ["CODINGS", "Coding", "IndexCoding"]
