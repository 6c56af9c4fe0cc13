"""Score of a probe: the mean of its last displayed losses, from the log of its run.

As in the released code of Omnivore: the loss of every fifth group update is displayed, and the last
ten displayed losses count.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from math import fsum
from typing import Any

from ...log.records import Record, UpdateRecord

DISPLAY = 5
"""Group updates from one displayed loss to the next."""
COUNTED = 10
"""Displayed losses in the score."""
WINDOW = DISPLAY * COUNTED
"""Group updates of the shortest probe whose score counts as many losses as it should."""


def score(
    records: Iterable[Record], group: Mapping[str, int], batches: Mapping[str, int]
) -> dict[str, Any]:
    """Return the facts of a probe from the `records` of its run, as JSON types.

    `group` holds the group's number and `batches` the mini-batch of each device. The facts are
    `loss` (the score; None if a loss is not finite or nothing was displayed), `half_loss` (the mean
    of all losses in the second half of the time; None if one is not finite), `group_updates`,
    `update_seconds` (mean time between group updates; None for fewer than two), and `displayed`
    (pairs of time and loss).
    """
    updates = (record for record in records if isinstance(record, UpdateRecord))
    # a group makes one step at a time, and the updates of a step stand together
    steps = groupby(updates, key=lambda update: (update.at, group[update.node]))
    times, losses, names = [], [], []
    for (at, name), members in steps:
        times.append(at)
        names.append(name)
        losses.append(_mean(list(members), batches))
    displayed = list(zip(times, losses, strict=True))[DISPLAY - 1 :: DISPLAY]
    last = [loss for _, loss in displayed[-COUNTED:] if loss is not None]
    finite = None not in losses and last
    return {
        "loss": fsum(last) / len(last) if finite else None,
        "half_loss": _second_half(times, losses),
        "group_updates": len(times),
        "update_seconds": _between(times, names),
        "displayed": displayed,
    }


def _second_half(times: Sequence[float], losses: Sequence[float | None]) -> float | None:
    """Return the mean of the `losses` in the second half of `times`; None without a finite mean."""
    half = [loss for at, loss in zip(times, losses, strict=True) if 2 * at >= times[-1]]
    finite = [loss for loss in half if loss is not None]
    return fsum(finite) / len(finite) if finite and len(finite) == len(half) else None


def _between(times: Sequence[float], groups: Sequence[int]) -> float | None:
    """Return the mean seconds between the group updates at `times`; None for fewer than two.

    `groups` holds the group of each. With constant times groups update in bursts, and a mean from
    the first burst to the last would count a pause too few. So the mean is taken over whole cycles
    of the last group; over all updates, if that group made only one.
    """
    if len(times) < 2:
        return None
    first = groups.index(groups[-1])
    if first == len(times) - 1:
        first = 0
    return (times[-1] - times[first]) / (len(times) - 1 - first)


def _mean(members: list[UpdateRecord], batches: Mapping[str, int]) -> float | None:
    """Return the loss on the group's mini-batch; None if a member's loss is not finite."""
    total = sum(batches[member.node] for member in members)
    if any(member.loss is None for member in members):
        return None
    return fsum((member.loss or 0.0) * batches[member.node] for member in members) / total
