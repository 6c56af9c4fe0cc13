"""A CPU quota as enforced by the kernel: a budget per period, then no work until the next.

This is Linux's CFS bandwidth control (Turner et al., 2010). A device at 20 % that has rested works
for 20 ms at full speed and waits afterwards. That matters where a device mostly waits for the
network: its short steps are not slowed down at all.
"""

import math

PERIOD = 0.1
"""Seconds; the kernel's default, and Docker's."""

LEAST = 0.01
"""Smallest quota in cores: the kernel hands out processor time in slices of about 1 % of a core."""

_ROUNDING = 1e-12
"""Seconds that count as none: the binary remainder of a budget that fits in decimal."""


def core_share(cpu: float | None) -> float:
    """Return the share of a core that a worker can use under the quota `cpu`: it has one thread.

    None stands for no quota.
    """
    return 1.0 if cpu is None else min(1.0, cpu)


def throttled(cpu: float | None, factor: float) -> float:
    """Return the quota, in cores, of a device whose own quota `cpu` is multiplied by `factor`.

    Without a quota (None) the device has one core. The result is `LEAST` or more.
    """
    return max(LEAST, (1.0 if cpu is None else cpu) * factor)


def least_seconds(work: float, share: float) -> float:
    """Return the seconds that `work` takes at least under a quota of `share` of a core.

    They are the fewest where the work begins with a whole budget, right before the next one.
    """
    allowance = min(1.0, share) * PERIOD
    if share >= 1 or work <= 2 * allowance:
        return work
    whole = math.ceil((work - _ROUNDING) / allowance) - 2  # budgets between the first and the last
    return allowance + whole * PERIOD + work - (1 + whole) * allowance


class Quota:
    """The quota of one device. Work is in seconds of a whole core, times are in seconds."""

    __slots__ = ("_allowance", "_left", "_period")

    def __init__(self, share: float) -> None:
        """Allow `share` of a core, at most 1."""
        self._allowance = min(1.0, share) * PERIOD  # work for each period
        self._period = -1  # number of the period to which `_left` belongs; may lie ahead of now
        self._left = 0.0  # work left of that period's allowance

    def spend(self, now: float, work: float, over: float) -> None:
        """Take off `work`, done evenly during the last `over` seconds.

        Only the part that fell into the period of `now` counts: earlier budgets are lost anyway.
        """
        self._fill(now)
        if self._period * PERIOD <= now:  # else the budget is spent up to a period in the future
            spent = work * min(1.0, (now - self._period * PERIOD) / over)
            self._left = max(0.0, self._left - spent)

    def finish(self, now: float, work: float) -> float:
        """Return the end of `work` from `now` on, and take the work off the budget."""
        self._fill(now)
        # this period offers no more than its budget, and no more than its remaining time
        possible = min(self._left, max(0.0, (self._period + 1) * PERIOD - now))
        if work <= possible + _ROUNDING:
            self._left = max(0.0, self._left - work)
            return now + work
        work -= possible
        # The rest takes whole allowances, one in each of the next periods, and a last part, done at
        # full speed at the beginning of a period.
        whole = int(work // self._allowance)
        last = work - whole * self._allowance
        if last < _ROUNDING:  # then the last part is a whole allowance
            whole, last = whole - 1, self._allowance
        self._period += 1 + whole
        self._left = self._allowance - last
        return self._period * PERIOD + last

    def change(self, now: float, share: float) -> None:
        """Allow `share` of a core from `now` on, with a whole budget at once.

        Linux refills the budget when the quota of a group changes (`tg_set_cfs_bandwidth`). Work
        under way ends at another time: plan the work that `remaining` returns again.
        """
        self._allowance = min(1.0, share) * PERIOD
        self._period, self._left = int(now // PERIOD), self._allowance

    def remaining(self, began: float, work: float, end: float, now: float) -> float:
        """Return the work left at `now`, of `work` that `finish` planned from `began` to `end`."""
        if end - began <= work + _ROUNDING:  # it waits for no budget
            return min(work, max(0.0, end - now))
        first, present, last = (int(time // PERIOD) for time in (began, now, end))
        if present >= last:
            return max(0.0, end - now)
        # later periods: whole allowances, and the last part, each at the beginning of its period
        later = (last - 1 - present) * self._allowance + end - last * PERIOD
        if present > first:
            return later + max(0.0, self._allowance - (now - present * PERIOD))
        done_first = work - (last - 1 - first) * self._allowance - (end - last * PERIOD)
        return later + max(0.0, done_first - (now - began))

    def restart(self) -> None:
        """Begin with a whole budget: a crashed device owes nothing for unfinished work."""
        self._period, self._left = -1, 0.0

    def _fill(self, now: float) -> None:
        """Begin the period of `now`, if a new one: with a whole budget, and no rest of the last."""
        period = int(now // PERIOD)
        if period > self._period:
            self._period, self._left = period, self._allowance
