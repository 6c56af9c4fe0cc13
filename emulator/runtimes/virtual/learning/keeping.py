"""Devices in virtual time that keep their state over a loss of power."""

from ....codecs.base import Encoder
from ....core.kept_state import Keeper, go_on, kept
from ....learners.batches import Batches, Position
from ....vectors import Frames, Vector
from .gradient_handle import GradientHandle, VirtualLearner


class KeepingPrefetcher:
    """A VirtualLearner that keeps the device's state after each push."""

    def __init__(
        self, learner: VirtualLearner, encoder: Encoder, batches: Batches, keeper: Keeper
    ) -> None:
        """Go on from the state in `keeper`, if there is one.

        `learner` encodes with `encoder`, and draws from `batches`.
        """
        self._learner, self._encoder, self._batches = learner, encoder, batches
        self._keeper = keeper
        if keeper.state is not None:
            go_on(encoder, batches, keeper.state)

    def prefetch(self, theta: Vector) -> GradientHandle:
        handle = self._learner.prefetch(theta)
        # a later model may be on its way, with further mini-batches, when this gradient is pushed
        return _KeepingHandle(handle, self, self._batches.position())

    def pushed(self, position: Position) -> None:
        """Keep the state, as a gradient has been pushed whose mini-batches end at `position`."""
        self._keeper.state = kept(self._encoder, position)


class _KeepingHandle:
    """A GradientHandle that keeps the device's state when its frames are taken for the push."""

    __slots__ = ("_handle", "_learner", "_position", "size", "steps")

    def __init__(
        self, handle: GradientHandle, learner: KeepingPrefetcher, position: Position
    ) -> None:
        self.size, self.steps = handle.size, handle.steps
        self._handle, self._learner, self._position = handle, learner, position

    def begin(self) -> None:
        self._handle.begin()

    def loss(self) -> float:
        return self._handle.loss()

    def frames(self) -> Frames:
        frames = self._handle.frames()
        self._learner.pushed(self._position)
        return frames
