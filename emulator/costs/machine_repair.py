"""Hardware efficiency: seconds per group update, by the paper's formula and by an exact queue.

N devices form g compute groups of k = N/g. A group pulls, computes and pushes for t_conv seconds,
waits until the server is free, and occupies the server for t_fc seconds: a closed queue of g
customers, known as the machine-repair problem. Formula: Hadjis et al., Omnivore, arXiv 1606.04487.
Queue: mean value analysis, Reiser and Lavenberg, JACM 27(2), 1980. All times are in seconds.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

Combination = Literal["max", "sum"]


@dataclass(frozen=True)
class GroupCycle:
    """Times of an update of a compute group, without waiting for other groups."""

    conv: float
    """t_conv: the part in which no other group is in the way."""
    serial: tuple[float, ...]
    """Occupation of each resource that all groups share, one group at a time. The first is t_fc,
    the server's processor; a shared link may follow."""

    def __post_init__(self) -> None:
        _check_time("t_conv", self.conv)
        if not self.serial:
            raise ValueError("serial is empty: give t_fc at least")
        for time in self.serial:
            _check_time("t_fc", time)
        if self.total == 0:
            raise ValueError("t_conv and t_fc are both 0: an update takes some time")

    @property
    def total(self) -> float:
        """The whole cycle of a group that is alone."""
        return self.conv + sum(self.serial)


def conv_time(
    compute: float, traffic: float, members: float, combination: Combination = "max"
) -> float:
    """Return t_conv(k) of a group of k = `members` devices.

    `compute` is t_cc(1), the time that one device needs for the whole mini-batch, of which each
    member computes a k-th. `traffic` is t_cn(1), the time of one device's model and gradient on the
    server's link, which carries k of them. The paper takes the `max` of both, as if they
    overlapped; devices that pull, compute and push one after the other need the `sum`.
    """
    _check_time("t_cc", compute)
    _check_time("t_cn", traffic)
    if not 1 <= members < math.inf:
        raise ValueError(f"{members} members: a group has at least 1")
    parts = (compute / members, traffic * members)
    return max(parts) if combination == "max" else sum(parts)


def formula(groups: int, cycle: GroupCycle) -> float:
    """Return HE(g) = max(t_fc, (t_conv + t_fc)/g), in seconds per group update.

    Exact for constant times; a lower bound for random times.
    """
    _check_groups(groups)
    return max(*cycle.serial, cycle.total / groups)


def queue(groups: int, cycle: GroupCycle) -> float:
    """Return HE(g) of the closed queue in seconds per group update, by mean value analysis.

    Exact if service times at the server are exponential, whatever the law of t_conv; an upper bound
    if service times vary less.
    """
    _check_groups(groups)
    lengths = [0.0] * len(cycle.serial)  # groups at each resource, on average
    for population in range(1, groups + 1):
        # an arriving group finds the queue of a system with one group less (arrival theorem)
        stays = [time * (1 + length) for time, length in zip(cycle.serial, lengths, strict=True)]
        throughput = population / (cycle.conv + sum(stays))
        lengths = [throughput * stay for stay in stays]
    return 1 / throughput


def saturation(
    devices: int,
    cycle_of: Callable[[int], GroupCycle],
    scanned: Iterable[int] | None = None,
) -> int | None:
    """Return the saturation point: the smallest g with g · t_fc ≥ t_conv(N/g) + t_fc.

    From there on more groups do not make updates more frequent. `cycle_of` returns the cycle of a
    group when there are g groups of `devices` devices. Beyond g = N the groups count as single
    devices, so the result may exceed N: then N devices cannot saturate the server. None: no number
    of groups saturates it, since t_fc is 0. Up to N only the numbers in `scanned` are tried, in
    this order; all of them without `scanned`.
    """
    _check_groups(devices)
    for groups in range(1, devices + 1) if scanned is None else scanned:
        if groups >= _full(cycle_of(groups)):
            return groups
    last = _full(cycle_of(devices))
    return None if last == math.inf else math.ceil(last)


def _full(cycle: GroupCycle) -> Fraction | float:
    """Return the number of groups with `cycle` that keep the busiest resource busy all the time."""
    # decimal arithmetic: in binary, 0.8 + 0.1 may exceed 9 · 0.1
    exact = [Fraction(repr(float(time))) for time in (cycle.conv, *cycle.serial)]
    busiest = max(exact[1:])
    return sum(exact) / busiest if busiest else math.inf


def _check_time(name: str, value: float) -> None:
    if not 0 <= value < math.inf:
        raise ValueError(f"{name} is {value}: write seconds from 0 up")


def _check_groups(groups: int) -> None:
    if groups < 1:
        raise ValueError(f"{groups} groups: there is at least 1")
