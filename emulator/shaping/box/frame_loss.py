"""Loss of single frames, each drawn apart."""

from random import Random


class FrameLoss:
    """A loss of a share of all frames, independently of one another."""

    def __init__(self, loss: float, draws: Random) -> None:
        self._loss, self._draw = loss, draws.random

    def loses(self) -> bool:
        """Draw whether the next frame is lost."""
        return self._draw() < self._loss
