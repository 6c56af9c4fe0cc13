"""Bytes of each layer on the wire, learnt from the sizes of segments."""

from ..layout import Segment

FOLLOW = 0.1
"""Weight of the newest sizes, once there are many."""


class LayerSizes:
    """Moving average of each layer's bytes in one direction.

    A segment tells the sum of its layers' bytes; each layer takes part in a change by its share.
    """

    def __init__(self, sizes: tuple[float, ...], head: float) -> None:
        """Begin with `sizes`; a segment needs `head` bytes beside its layers."""
        self._sizes = [*sizes]
        self._head = head
        self._iterations = 0

    def add(self, segments: list[tuple[Segment, int]]) -> None:
        """Add the sizes of an iteration's segments."""
        self._iterations += 1
        weight = max(FOLLOW, 1 / self._iterations)  # the first sizes replace the guess
        for (first, last), size in segments:
            layers = slice(first - 1, last)
            held = self._sizes[layers]
            content, known = max(0.0, size - self._head), sum(held)
            new = [content * (each / known if known else 1 / len(held)) for each in held]
            self._sizes[layers] = [
                each + weight * (other - each) for each, other in zip(held, new, strict=True)
            ]

    def times(self, pace: float) -> tuple[float, ...]:
        """Return the seconds of each layer's bytes at `pace` seconds per byte."""
        return tuple(size * pace for size in self._sizes)
