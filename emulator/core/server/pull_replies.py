"""Replies to the pulls of workers: the model or a patch, whole or in segments of layers."""

from collections.abc import Sequence

from ...errors import WireError
from ...layout import Layout, Segment
from ...pulls import Pulls
from ...vectors import Gradient, Vector
from ..wire.messages import ModelReply, ModelSegment, Patch, PatchSegment, Pull, PullReply, Times
from .parameters import State


class PullReplies:
    """Makes replies out of the present model; all replies to one pull hold the same version."""

    def __init__(self, parameters: State, pulls: Pulls, layout: Layout) -> None:
        """`pulls` encodes the models of workers."""
        self._parameters, self._pulls, self._layout = parameters, pulls, layout

    def changed(self, gradients: Sequence[Gradient]) -> None:
        """Record that `gradients` made a step of the model."""
        self._pulls.changed(gradients, self._parameters.everywhere)

    def held(self) -> Vector:
        """Return the model as every worker that pulls this version holds it: f32[N], read-only."""
        rounded = self._pulls.rounded(self._parameters.theta)
        return self._parameters.snapshot() if rounded is None else rounded

    def check(self, pull: Pull) -> None:
        """Raise a WireError unless the model can be sent as `pull` asks for it.

        Segments must follow one another from layer 1 and together hold every layer.
        """
        if pull.held is not None and pull.held > self._parameters.version:
            raise WireError(f"{pull.node} cannot hold version {pull.held}")
        if not pull.segments:
            return
        behind, layers = 0, len(self._layout.layers)
        for first, last in pull.segments:
            if not behind + 1 == first <= last <= layers:
                raise WireError(f"layers {first} to {last} behind layer {behind} of {layers}")
            behind = last
        if behind != layers:
            raise WireError(f"the segments end at layer {behind} of {layers}")

    def whole(self, pull: Pull) -> ModelReply | Patch:
        """Return the model, or a patch to the version held by the worker, in one message."""
        coded = self._pulls.answer(self._parameters.theta, pull.held)
        if coded is None:
            return ModelReply(pull.ticket, self._parameters.version, self._parameters.snapshot())
        return Patch(pull.ticket, self._parameters.version, coded.base, coded.frames)

    def pieces(self, pull: Pull, times: Times) -> list[PullReply]:
        """Return a piece for each segment of `pull`, in order; the first carries `times`."""
        carried = [times, *[None] * (len(pull.segments) - 1)]
        return [self._piece(pull, *piece) for piece in zip(pull.segments, carried, strict=True)]

    def _piece(self, pull: Pull, segment: Segment, times: Times | None) -> PullReply:
        ticket, version = pull.ticket, self._parameters.version
        coded = self._pulls.answer(self._parameters.theta, pull.held, segment)
        if coded is None:
            theta = self._parameters.snapshot()[self._layout.place(segment)]
            return ModelSegment(ticket, version, segment, theta, times)
        return PatchSegment(ticket, version, segment, coded.base, coded.frames, times)
