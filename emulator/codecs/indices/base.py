"""What a way to write indices promises."""

from typing import Protocol

from ...errors import WireError
from ...layout import Layout
from ...vectors import Buffer, Indices


class IndexCoder(Protocol):
    """One way to write strictly ascending indices as bytes; a module or an object."""

    def encode(self, indices: Indices, layout: Layout) -> bytes:
        """The one spelling of these indices into a model of this layout."""

    def decode(self, frame: Buffer, entries: int, layout: Layout) -> Indices:
        """The `entries` indices, at most the layout's size, that the bytes hold.

        A WireError if `encode` cannot have written the frame: another length, an index out of
        order or out of range, a second spelling.
        """

    def least(self, entries: int, layout: Layout) -> int:
        """Bytes that every set of so many takes, or fewer; known at once."""

    def header(self, frame: Buffer) -> int:
        """How many bytes of a well-formed frame say how the rest is to be read."""


def ascending(indices: Indices, size: int) -> Indices:
    """The indices, if they ascend strictly and lie below `size`."""
    if (indices[1:] <= indices[:-1]).any():
        raise WireError("indices do not ascend")
    if indices.size and indices[-1] >= size:
        raise WireError(f"index {indices[-1]} of {size} parameters")
    return indices
