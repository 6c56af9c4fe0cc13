"""A worker's coroutine that pulls and pushes in segments of layers, cut by a scheduler.

Transfer overlaps computing: the forward pass of a piece of the model runs while the next pieces
come, and a piece of the update travels while the layers before it are computed.
"""

from collections.abc import Generator
from typing import Any, Protocol, TypeVar

from ...layout import Layout, Segment
from ...schedules.base import Cuts, Segments
from ...vectors import Frames, NotFinite
from ..wire.messages import Diverged, Pull, UpdateSegment
from .worker import (
    Await,
    Backward,
    Computed,
    Forward,
    NodeCoroutine,
    Over,
    Tell,
    hello,
    tickets,
    unless_over,
)


class PulledSegment(Protocol):
    """A piece of the answer to a pull, in the form in which a runtime passes pieces to nodes.

    As a `PulledModel`, but for the layers of `segment` only.
    """

    @property
    def ticket(self) -> int:
        """The ticket of the answered `Pull`."""

    @property
    def version(self) -> int:
        """The model's version: the number of updates applied so far."""

    @property
    def segment(self) -> Segment:
        """The layers whose parameters the piece holds."""

    @property
    def size(self) -> int:
        """Number of parameters of the layers of `segment`."""


PieceT = TypeVar("PieceT", bound=PulledSegment)
GradientT = TypeVar("GradientT")
GradientT_contra = TypeVar("GradientT_contra", contravariant=True)


class PieceEncoder(Protocol[GradientT_contra]):
    """Turns gradients of segments, in the same form as in `Computed`, into frames."""

    def encode(self, segment: Segment, gradient: GradientT_contra, /) -> Frames:
        """Return the frames of the layers of `segment`; raise NotFinite if one is not finite."""


class CutPlanner(Protocol):
    """Decides how the next iteration is cut; the worker needs no more of a `Scheduler`."""

    def cuts(self) -> Cuts:
        """Return the segments of the next iteration's pull and push."""


def layered_worker(
    node: str,
    incarnation: int,
    scheduler: CutPlanner,
    encoder: PieceEncoder[GradientT],
    layout: Layout,
    timeout: float,
    kind: type[PieceT],
) -> NodeCoroutine[PieceT]:
    """Train a model of `layout` until the server says bye, each iteration cut by `scheduler`.

    The server has `timeout` seconds for each piece of its answer. `kind` is the class of the
    replies that hold pieces of models; `encoder` takes the gradients that come back from
    `Backward`. Pull and push travel as segments even where each has a single segment: so the
    scheduler is told the server's times.
    """
    try:
        yield from hello(node, incarnation, timeout)
        for ticket in tickets(incarnation):
            cuts = scheduler.cuts()
            yield Tell(Pull(node, ticket, segments=cuts.pull))
            version = yield from _forward(cuts.pull, ticket, layout, timeout, kind)
            if version is not None:
                yield from _backward(node, version, ticket, cuts.push, encoder)
    except Over:
        return


def _forward(
    segments: Segments, ticket: int, layout: Layout, timeout: float, kind: type[PieceT]
) -> Generator[Await | Forward[PieceT], Any, int | None]:
    """Compute the forward pass of each piece of the answer to the pull `ticket`, on arrival.

    Return the version of the model. Return None if a piece did not come in time, is out of order,
    or has another version: the forward passes so far are in vain, and the node has to pull again.
    A gradient is never computed on pieces of two versions.
    """
    version: int | None = None
    for segment in segments:
        piece = yield from _piece(ticket, timeout, kind)
        place = layout.place(segment)
        if piece is None or piece.segment != segment or piece.size != place.stop - place.start:
            return None
        if version not in (None, piece.version):
            return None
        version = piece.version
        yield Forward(piece)
        del piece  # or a node that waits for the next piece would keep this one alive
    return version


def _piece(ticket: int, timeout: float, kind: type[PieceT]) -> Generator[Await, Any, PieceT | None]:
    """Await a piece of the answer to the pull with `ticket`; None if the node has to pull again.

    Other messages are skipped: answers to earlier pulls, and whole models.
    """
    while (answer := unless_over((yield Await(timeout)))) is not None:
        if isinstance(answer, kind) and answer.ticket == ticket:
            return answer
    return None


def _backward(
    node: str, version: int, ticket: int, segments: Segments, encoder: PieceEncoder[GradientT]
) -> Generator[Backward | Tell, Computed[GradientT], None]:
    """Compute, encode and push the gradient of each of `segments`, the last layers first.

    A gradient that is not finite ends the push; the server drops the pieces before it.
    """
    for segment in segments:
        computed = yield Backward(segment)
        try:
            frames = encoder.encode(segment, computed.gradient)
        except NotFinite:
            yield Tell(Diverged(node, version))
            return
        loss, seconds = computed.loss, computed.seconds
        yield Tell(UpdateSegment(node, version, ticket, segment, loss, seconds, frames))
