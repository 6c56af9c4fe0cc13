"""Bytes of each layer on the wire, learnt from the sizes of segments."""

from collections.abc import Sequence

from ...layout import Segment


class LayerSizes:
    """Mean bytes of the layers in a direction, over the iterations since the last plan.

    A segment tells the sum of the layers' bytes; a layer takes part in a change by its share.
    """

    def __init__(self, sizes: Sequence[float], head: float) -> None:
        """Begin with `sizes`; a segment needs `head` bytes beside its layers."""
        self._sizes = [*sizes]
        self._head = head
        # bytes and number of messages of each segment since the last plan; a plan and its
        # predecessor have at most two segments for each layer
        self._seen: dict[Segment, tuple[int, int]] = {}

    def add(self, segment: Segment, size: int) -> None:
        """Add a message of `size` bytes with the layers of `segment`."""
        total, messages = self._seen.get(segment, (0, 0))
        self._seen[segment] = total + size, messages + 1

    def means(self) -> tuple[float, ...]:
        """Return the layers' mean bytes since the last call; without a message the last means."""
        for segment, (total, messages) in self._seen.items():
            self._share(segment, max(0.0, total / messages - self._head))
        self._seen.clear()
        return tuple(self._sizes)

    def _share(self, segment: Segment, content: float) -> None:
        """Give the layers of `segment` their shares of `content` bytes."""
        layers = slice(segment[0] - 1, segment[1])
        held = self._sizes[layers]
        known = sum(held)
        self._sizes[layers] = [
            content * each / known if known else content / len(held) for each in held
        ]
