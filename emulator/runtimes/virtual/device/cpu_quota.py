"""A CPU quota as the kernel keeps it: so much in each period, then nothing until the next.

Linux's CFS bandwidth control (Turner et al., 2010): a device at 20 % that has rested does 20 ms of
work at full speed, and pays afterwards. That matters where the network is what a device
waits for: its short steps are not slowed at all.
"""

PERIOD = 0.1
"""Seconds; the kernel's default, and Docker's."""

_ROUNDING = 1e-12
"""Seconds that are none: what is left over in binary of a budget that fits in decimal."""


class Quota:
    """One device's; all in seconds, `work` being what a whole core would take."""

    __slots__ = ("_allowance", "_left", "_period")

    def __init__(self, share: float) -> None:
        self._allowance = min(1.0, share) * PERIOD
        self._period = -1
        self._left = 0.0

    def spend(self, now: float, work: float, over: float) -> None:
        """Work went on evenly for the last `over` seconds: what fell into this period is gone."""
        self._fill(now)
        if self._period * PERIOD <= now:  # else it owes more than that already
            gone = work * min(1.0, (now - self._period * PERIOD) / over)
            self._left = max(0.0, self._left - gone)

    def finish(self, now: float, work: float) -> float:
        """When work that begins now is done, one piece after the other."""
        self._fill(now)
        doable = min(self._left, max(0.0, (self._period + 1) * PERIOD - now))
        if work <= doable + _ROUNDING:
            self._left = max(0.0, self._left - work)
            return now + work
        work -= doable
        allowance = self._allowance
        whole = int(work // allowance)
        rest = work - whole * allowance
        if rest < _ROUNDING:  # more than that is left, so there is a whole one
            whole, rest = whole - 1, allowance
        self._period += 1 + whole
        self._left = allowance - rest
        return self._period * PERIOD + rest

    def restart(self) -> None:
        """Begin anew with a whole budget: who died owes nothing for work that was under way."""
        self._period, self._left = -1, 0.0

    def _fill(self, now: float) -> None:
        """A period that has begun brings its budget; what the last one left is lost."""
        period = int(now // PERIOD)
        if period > self._period:
            self._period, self._left = period, self._allowance
