"""Settings that the tuner chooses between: number of groups, learning rate and momentum."""

from typing import NamedTuple


class Setting(NamedTuple):
    """A number of compute groups g with a learning rate η and an explicit momentum μ."""

    groups: int
    rate: float
    momentum: float

    def __str__(self) -> str:
        return f"g={self.groups} rate={self.rate:.4g} momentum={self.momentum:g}"


def divisors(devices: int) -> list[int]:
    """Return the numbers of equal groups that `devices` devices can form, in ascending order."""
    return [groups for groups in range(1, devices + 1) if devices % groups == 0]


def halved(groups: int, devices: int) -> int:
    """Return half of `groups`, or the largest divisor of `devices` below; at least 1."""
    return max(number for number in divisors(devices) if number <= max(1, groups // 2))
