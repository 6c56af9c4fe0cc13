"""Overtaking of frames by other frames: netem's `reorder` and `gap`."""

from random import Random


class Overtaking:
    """Choice of the frames that pass without the delay, at most one in `gap` frames."""

    def __init__(self, share: float, gap: int, draws: Random) -> None:
        self._share, self._gap, self._draw = share, gap, draws.random
        self._behind = 0  # frames since the last one that overtook others

    def chooses(self) -> bool:
        """Draw whether the next frame overtakes the frames ahead of it."""
        if self._behind >= self._gap - 1 and self._draw() < self._share:
            self._behind = 0
            return True
        self._behind += 1
        return False
