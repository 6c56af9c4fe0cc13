"""Observations of an iteration of a device, and the times that follow from these observations."""

from collections.abc import Sequence
from math import inf
from typing import NamedTuple, TypeAlias

from ...layout import Segment
from ...schedules.base import Cuts, Segments
from .link_fit import Transfer
from .prior_costs import LinkEstimate

Spans: TypeAlias = list[tuple[float, float]]
"""Begin and end of each segment, in seconds since the phase began."""


class Piece(NamedTuple):
    """A segment at an end of the device's link."""

    segment: Segment
    size: int
    at: float
    """When it arrived, or was given to the link."""
    late: bool = False
    """Whether the device was computing and found the piece waiting: it may have arrived before
    `at`."""


class Block(NamedTuple):
    """A forward or backward pass through the layers of a segment."""

    segment: Segment
    seconds: list[float]
    """By layer, the lowest layer first."""
    began: float
    ended: float


class IterationTrace:
    """An iteration of a device, from the pull to the push.

    Observations out of the order of `cuts` are not added, so memory is bounded by the cuts. The
    trace of an interrupted iteration never gets complete.
    """

    def __init__(self, cuts: Cuts, began: float) -> None:
        """Begin at the time `began`, when the pull was sent."""
        self.cuts, self.began = cuts, began
        self.answered: float | None = None
        """When the server answered the pull."""
        self.pulled: list[Piece] = []
        """Pieces of the model that have arrived."""
        self.sent: list[Piece] = []
        """Pieces of the update that were given to the link."""
        self._forward: list[Block] = []
        self._backward: list[Block] = []

    # -- observations ----------------------------------------------------------------------------

    def arrived(self, piece: Piece) -> None:
        """Add a piece of the model."""
        if self._is_next(piece.segment, len(self.pulled), self.cuts.pull):
            self.pulled.append(piece)

    def forward(self, block: Block) -> None:
        """Add a forward pass."""
        if self._is_next(block.segment, len(self._forward), self.cuts.pull):
            self._forward.append(block)

    def backward(self, block: Block) -> None:
        """Add a backward pass."""
        if self._is_next(block.segment, len(self._backward), self.cuts.push):
            self._backward.append(block)

    def handed(self, piece: Piece) -> None:
        """Add a piece of the update, given to the link."""
        if self._is_next(piece.segment, len(self.sent), self.cuts.push):
            self.sent.append(piece)

    def _is_next(self, segment: Segment, seen: int, planned: Segments) -> bool:
        """Return whether `segment` comes next in `planned`, of which `seen` segments have come."""
        return seen < len(planned) and planned[seen] == segment

    @property
    def pushed(self) -> bool:
        """Whether the device has computed all layers and given all pieces to the link."""
        pull, push = len(self.cuts.pull), len(self.cuts.push)
        received = len(self.pulled) == len(self._forward) == pull
        return received and len(self._backward) == len(self.sent) == push

    def fits(self, arrived: Sequence[float]) -> bool:
        """Return whether `arrived` may be the times at which the server got the update's pieces.

        The times of an earlier update came before this one was sent, so they do not fit. Nor does
        an infinite time, from which no cost can be estimated.
        """
        if self.answered is None or not self.began <= self.answered <= self.pulled[0].at:
            return False
        pairs = zip(self.sent, arrived, strict=False)
        return len(arrived) == len(self.sent) and all(piece.at <= at < inf for piece, at in pairs)

    # -- for estimates ---------------------------------------------------------------------------

    def pull_transfers(self, link: LinkEstimate) -> list[Transfer]:
        """Return the times for which the pieces of the model held the link to the device.

        The server queues all pieces at once, so each follows the one before without a pause. A late
        piece counts together with the next one whose arrival is known.
        """
        transfers = []
        since = self._opened(link)
        messages = size = 0
        for piece in self.pulled:
            messages, size = messages + 1, size + piece.size
            if not piece.late:
                transfers.append(Transfer(messages, size, piece.at - since))
                since, messages, size = piece.at, 0, 0
        return transfers

    def push_transfers(self, arrived: Sequence[float], link: LinkEstimate) -> list[Transfer]:
        """Return the times for which the pieces of the update held the link to the server.

        A piece begins when it is given to the link, or when the piece before has left.
        """
        transfers = []
        free = self.sent[0].at
        for piece, at in zip(self.sent, arrived, strict=True):
            left = at - link.delay
            transfers.append(Transfer(1, piece.size, left - max(free, piece.at)))
            free = left
        return transfers

    def forward_seconds(self) -> list[float]:
        """Return by layer the seconds of the processor until the forward pass ended.

        Reading a piece takes the processor too, so a layer's time counts from the end of the block
        before, or from the arrival for which the processor waited.
        """
        seconds: list[float] = []
        free = self.pulled[0].at
        for piece, block in zip(self.pulled, self._forward, strict=True):
            seconds += _shared(block, block.ended - max(free, piece.at))
            free = block.ended
        return seconds

    def backward_seconds(self) -> list[float]:
        """Return by layer the seconds of the processor until the gradient was sent.

        Encoding takes the processor too, so a segment counts until the hand-over to the link.
        """
        layers: list[list[float]] = []
        free = self._backward[0].began
        for block, piece in zip(self._backward, self.sent, strict=True):
            layers.append(_shared(block, piece.at - free))
            free = piece.at
        return [seconds for block in reversed(layers) for seconds in block]

    # -- for records -----------------------------------------------------------------------------

    def t_forward(self, link: LinkEstimate) -> float:
        """Return the seconds from the first bit that can reach the device to the last forward
        pass."""
        return self._forward[-1].ended - self._opened(link)

    def t_backward(self, arrived: Sequence[float], link: LinkEstimate) -> float:
        """Return the seconds from the first backward pass until the update has left the link."""
        return arrived[-1] - link.delay - self._backward[0].began

    def pull_spans(self, link: LinkEstimate) -> Spans:
        """Return the spans in which the link carried the segments of the pull.

        The arrival of a late piece is not known, so `link` decides, but not beyond the time at
        which the piece was found.
        """
        opened, free = self._opened(link), 0.0
        spans = []
        for piece in self.pulled:
            at = piece.at - opened
            if piece.late:
                at = min(at, free + link.setup + piece.size * link.pace)
            spans.append((free, max(free, at)))
            free = spans[-1][1]
        return spans

    def forward_spans(self, link: LinkEstimate) -> Spans:
        """Return the spans of the segments' forward passes."""
        opened = self._opened(link)
        return [(block.began - opened, block.ended - opened) for block in self._forward]

    def backward_spans(self) -> Spans:
        """Return the spans of the segments' backward passes."""
        zero = self._backward[0].began
        return [(block.began - zero, block.ended - zero) for block in self._backward]

    def push_spans(self, arrived: Sequence[float], link: LinkEstimate) -> Spans:
        """Return the spans in which the link carried the segments of the push."""
        zero, free = self._backward[0].began, 0.0
        spans = []
        for piece, at in zip(self.sent, arrived, strict=True):
            began = max(free, piece.at - zero)
            spans.append((began, max(began, at - link.delay - zero)))
            free = spans[-1][1]
        return spans

    def _opened(self, link: LinkEstimate) -> float:
        """Return when the first bit of the answer could reach the device."""
        assert self.answered is not None
        return self.answered + link.delay


def _shared(block: Block, total: float) -> list[float]:
    """Return the seconds of each layer of `block`, enlarged in proportion to the sum `total`."""
    known = sum(block.seconds)
    if total <= known or not known:
        return block.seconds
    return [seconds * (total / known) for seconds in block.seconds]
