"""The fates of single frames, in netem's order: duplication and loss, damage, overtaking.

A duplicate meets loss, damage and overtaking on its own, and is not duplicated again.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from ...world.links.link import Side
from .tap import HEADER

_ETHERNET_HEADER = 14

DrawsFor = Callable[[str], Random]
"""Returns the random stream of a use of draws, for example `jitter`."""


@dataclass
class FateCounts:
    """Numbers of frames with each fate."""

    lost: int = 0
    duplicated: int = 0
    corrupted: int = 0
    reordered: int = 0


class Fates:
    """Draws of the fates of a side's frames."""

    def __init__(self, side: Side, draws: DrawsFor, counts: FateCounts) -> None:
        """Each fate draws from a stream of its own, the result of `draws`."""
        self._counts = counts
        self._duplicate, self._duplicates = float(side.duplicate), draws("duplicate").random
        self._corrupt, self._damage = float(side.corrupt), draws("corrupt")
        self._loses = _loss_of(side, draws("loss"))
        self._overtaking: _Overtaking | None = None
        if side.reorder:
            self._overtaking = _Overtaking(side.reorder, side.gap, draws("reorder"))

    def of(self, frame: bytes, number: int = 1) -> Iterator[tuple[bytes, bool]]:
        """Yield each copy of `frame` that is left, and whether the copy overtakes other frames.

        `number`: the frames of a superpacket, which arrives before the kernel has learned of a
        change, and shares its fate.
        """
        # duplication is drawn first, as in netem, and from its own stream: with other losses the
        # same frames are duplicated
        twice = self._duplicate and self._duplicates() < self._duplicate
        lost = self._lost(number)
        if twice:
            self._counts.duplicated += number
            # netem loses one copy of a frame that is duplicated and lost
            if not lost and self._lost(number):
                lost = True
        for _ in range(1 + bool(twice) - lost):
            yield self._arriving(frame, number)

    def _lost(self, number: int) -> bool:
        if self._loses is None or not self._loses():
            return False
        self._counts.lost += number
        return True

    def _arriving(self, frame: bytes, number: int) -> tuple[bytes, bool]:
        if self._corrupt and self._damage.random() < self._corrupt:
            self._counts.corrupted += number
            frame = _damaged(frame, self._damage)
        ahead = self._overtaking is not None and self._overtaking.chooses()
        if ahead:
            self._counts.reordered += number
        return frame, ahead


class _Overtaking:
    """Choice of the frames that pass without the delay, at most one in `gap`: netem's `reorder`."""

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


def _loss_of(side: Side, draws: Random) -> Callable[[], bool] | None:
    """Return a function that draws whether the next frame is lost; None for a lossless side.

    Frames are lost each apart, or in bursts by the chain of a loss model.
    """
    if side.loss_model is not None:
        chain = side.loss_model.chain.draws(draws)
        return lambda: next(chain)
    if not side.loss:
        return None
    loss, draw = float(side.loss), draws.random
    return lambda: draw() < loss


def _damaged(frame: bytes, draws: Random) -> bytes:
    """Return `frame` with a wrong bit behind its Ethernet header.

    The frame must have its checksums. It gets an empty offload header: the kernel must not mend it.
    """
    begin = HEADER + _ETHERNET_HEADER
    if len(frame) <= begin:
        return frame
    place, bit = draws.randrange(begin, len(frame)), 1 << draws.randrange(8)
    return b"".join(
        (bytes(HEADER), frame[HEADER:place], bytes((frame[place] ^ bit,)), frame[place + 1 :])
    )
