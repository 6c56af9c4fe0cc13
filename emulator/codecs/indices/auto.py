"""Coding `auto`: the shortest of the other codings for each set, named by a byte in front."""

from dataclasses import dataclass

from ...errors import WireError
from ...layout import Layout
from ...vectors import Buffer, Indices
from .base import IndexCoder


@dataclass(frozen=True)
class Auto:
    """The shortest of `codings`; of equally short ones, the first."""

    codings: tuple[IndexCoder, ...]

    def encode(self, indices: Indices, layout: Layout) -> bytes:
        """Return the number of the shortest coding as a byte, then the bytes of that coding."""
        first, *others = self.codings
        chosen, shortest = 0, first.encode(indices, layout)
        for number, coding in enumerate(others, 1):
            # skipping hopeless codings saves writing, for example, a bitmap of a large model
            if coding.least(indices.size, layout) < len(shortest):
                frame = coding.encode(indices, layout)
                if len(frame) < len(shortest):
                    chosen, shortest = number, frame
        return bytes([chosen]) + shortest

    def decode(self, frame: Buffer, entries: int, layout: Layout) -> Indices:
        """Return the indices; not checked is whether the coding is the shortest, a costly
        question."""
        if not len(frame) or frame[0] >= len(self.codings):
            raise WireError("an unknown coding of indices")
        return self.codings[frame[0]].decode(memoryview(frame)[1:], entries, layout)

    def least(self, entries: int, layout: Layout) -> int:
        """Return 1: the byte in front; no lower bound of the rest is known."""
        return 1

    def header(self, frame: Buffer) -> int:
        """Return 1 for the byte in front plus the header bytes of the chosen coding."""
        return 1 + self.codings[frame[0]].header(memoryview(frame)[1:])
