"""Whichever way is the shortest for this very set; a byte in front says which."""

from dataclasses import dataclass

from ...errors import WireError
from ...layout import Layout
from ..base import Buffer, Indices
from .base import Coding


@dataclass(frozen=True)
class Auto:
    """Of ways equally short, the first."""

    codings: tuple[Coding, ...]

    def encode(self, indices: Indices, layout: Layout) -> bytes:
        frames = [coding.encode(indices, layout) for coding in self.codings]
        chosen = min(range(len(frames)), key=lambda number: len(frames[number]))
        return bytes([chosen]) + frames[chosen]

    def decode(self, frame: Buffer, entries: int, layout: Layout) -> Indices:
        """That the way is the shortest is not checked: it would cost what it cost the sender."""
        if not len(frame) or frame[0] >= len(self.codings):
            raise WireError("an unknown coding of indices")
        return self.codings[frame[0]].decode(memoryview(frame)[1:], entries, layout)

    def header(self, frame: Buffer) -> int:
        return 1 + self.codings[frame[0]].header(memoryview(frame)[1:])
