"""Protocol of index codings."""

from typing import Protocol

from ...errors import WireError
from ...layout import Layout
from ...vectors import Buffer, Indices


class IndexCoder(Protocol):
    """A way to write strictly ascending indices as bytes; a module or an object."""

    def encode(self, indices: Indices, layout: Layout) -> bytes:
        """Return the bytes of `indices` in a model of `layout`; every set has exactly one
        spelling."""

    def decode(self, frame: Buffer, entries: int, layout: Layout) -> Indices:
        """Return the `entries` indices in `frame`; `entries` is at most the layout's size.

        Raises WireError if `encode` cannot have written `frame`: another length, an index out of
        order or out of range, a second spelling of a set.
        """

    def least(self, entries: int, layout: Layout) -> int:
        """Return a lower bound of the bytes for any set of `entries` indices, in constant time."""

    def header(self, frame: Buffer) -> int:
        """Return the number of bytes in a well-formed `frame` that only say how to read the
        rest."""


def ascending(indices: Indices, size: int) -> Indices:
    """Return `indices`. Raises WireError unless they ascend strictly and lie below `size`."""
    if (indices[1:] <= indices[:-1]).any():
        raise WireError("indices do not ascend")
    if indices.size and indices[-1] >= size:
        raise WireError(f"index {indices[-1]} of {size} parameters")
    return indices
