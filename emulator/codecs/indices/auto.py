"""Whichever way is the shortest for this very set; a byte in front says which."""

from dataclasses import dataclass

from ...errors import WireError
from ...layout import Layout
from ...vectors import Buffer, Indices
from .base import IndexCoder


@dataclass(frozen=True)
class Auto:
    """Of ways equally short, the first."""

    codings: tuple[IndexCoder, ...]

    def encode(self, indices: Indices, layout: Layout) -> bytes:
        first, *others = self.codings
        chosen, shortest = 0, first.encode(indices, layout)
        for number, coding in enumerate(others, 1):
            # else few indices of a large model would cost a bit for each parameter
            if coding.least(indices.size, layout) < len(shortest):
                frame = coding.encode(indices, layout)
                if len(frame) < len(shortest):
                    chosen, shortest = number, frame
        return bytes([chosen]) + shortest

    def decode(self, frame: Buffer, entries: int, layout: Layout) -> Indices:
        """That the way is the shortest is not checked: it would cost what it cost the sender."""
        if not len(frame) or frame[0] >= len(self.codings):
            raise WireError("an unknown coding of indices")
        return self.codings[frame[0]].decode(memoryview(frame)[1:], entries, layout)

    def least(self, entries: int, layout: Layout) -> int:
        return 1

    def header(self, frame: Buffer) -> int:
        return 1 + self.codings[frame[0]].header(memoryview(frame)[1:])
