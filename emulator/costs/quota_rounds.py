"""Rounds of a compute group whose members have CPU quotas, played on the kernel's rule.

A quota is a budget for each period of 100 ms, so the time of a step depends on how long the device
has rested: no formula in the mean time of a step tells it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .. import chance
from ..world.cpu_quota import Quota
from ..world.laws import Law
from .slowest_member import draws, last_served

_ROUNDS, _FIRST = 400, 20
"""Rounds that are played, and those of them that do not count: budgets settle."""
_DRAWS = 200_000
"""Steps that are played at most; a group with many members plays fewer rounds."""


@dataclass(frozen=True)
class PacedMember:
    """A member of a group: model down, step, update up."""

    before: float
    """Seconds from the server's answer to the model's arrival."""
    scale: float
    """Factor of the step, the share of a mini-batch."""
    law: Law
    """Law of the step, in seconds of a whole core."""
    after: float
    """Seconds from the end of the step to the update's arrival."""
    cpu: float | None
    """CPU quota in cores; None: no quota."""

    @property
    def limited(self) -> bool:
        """Whether the quota is less than a core."""
        return self.cpu is not None and self.cpu < 1


def mean_round(members: Sequence[PacedMember], serve: float = 0.0, rest: float = 0.0) -> float:
    """Return the mean seconds from the server's answer until it has served all updates.

    The server serves an update for `serve` seconds, in the order of arrival. The answer to the next
    round leaves `rest` seconds later, as other groups are at the server.
    """
    dice = chance.stream(chance.predicted_rounds())
    quotas = [Quota(member.cpu or 1) if member.limited else None for member in members]
    rounds = max(_FIRST + 10, min(_ROUNDS, _DRAWS // len(members)))
    works = [member.scale * draws(member.law, dice, (rounds,)) for member in members]
    now, counted = 0.0, 0.0
    for number in range(rounds):
        arrivals = [
            _arrival(member, quota, now, float(work[number]))
            for member, quota, work in zip(members, quotas, works, strict=True)
        ]
        done = float(last_served(np.array([arrivals]), serve)[0])
        if number >= _FIRST:
            counted += done - now
        now = done + rest
    return counted / (rounds - _FIRST)


def _arrival(member: PacedMember, quota: Quota | None, now: float, work: float) -> float:
    """Return when the update of `member` arrives after an answer at `now`."""
    began = now + member.before
    end = began + work if quota is None else quota.finish(began, work)
    return end + member.after
