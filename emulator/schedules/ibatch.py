"""Schedule `ibatch`: greedy segments, hidden behind the computing of the segment before.

After iBatch (Wang, Pi and Zhou, AAAI 2019), which batches pulls only. The rule for pushes is this
project's: the rule for pulls in reversed time.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from .base import REPLAN, Replan, Segments, Time


@dataclass(frozen=True)
class IBatch:
    """iBatch: the best greedy plan; the plans differ in the length of the first segment."""

    replan: Replan = 50
    """Iterations after which a device plans anew with the costs that it measured."""
    kind: Literal["ibatch"] = "ibatch"

    def __post_init__(self) -> None:
        REPLAN.check(self.replan)

    def pull(self, setup: Time, transfer: Sequence[Time], forward: Sequence[Time]) -> Segments:
        """Return the segments of a pull. O(L² log L) for L layers.

        The rule has each segment hold as many layers as arrive within the computing time of the
        segment before it, and at least one. The first segment has no segment before it, so each
        length of the first segment is tried; of equal plans the one of fewest segments is kept.
        """
        sent = [0, *accumulate(transfer)]
        done = [0, *accumulate(forward)]
        plans = (_greedy(setup, sent, done, first) for first in range(1, len(sent)))
        return min(plans, key=lambda plan: (_finish(setup, sent, done, plan), len(plan)))

    def push(self, setup: Time, transfer: Sequence[Time], backward: Sequence[Time]) -> Segments:
        """Return the segments of a push, by the rule for pulls in reversed time.

        Each segment hides behind the computing of the segment after it; the segment with layer 1,
        which leaves last, has no segment after it, so each length is tried.
        """
        return self.pull(setup, transfer, backward)[::-1]


def _greedy(setup: Time, sent: list[Time], done: list[Time], first: int) -> Segments:
    """Return the greedy segments behind a first segment of the layers 1 to `first`.

    `sent` and `done` hold at l the transfer and computing times of the layers 1 to l together.
    """
    segments = [(1, first)]
    before, last, layers = 0, first, len(sent) - 1
    while last < layers:
        hidden = sent[last] + done[last] - done[before] - setup
        # the sums do not fall, so the last layer that fits is found by halving
        before, last = last, max(last + 1, bisect_right(sent, hidden, lo=last) - 1)
        segments.append((before + 1, last))
    return tuple(segments)


def _finish(setup: Time, sent: list[Time], done: list[Time], segments: Segments) -> Time:
    """Return the end of a forward pass that computes `segments` as they arrive."""
    now: Time = 0
    for number, (first, last) in enumerate(segments, 1):
        now = max(now, number * setup + sent[last]) + done[last] - done[first - 1]
    return now
