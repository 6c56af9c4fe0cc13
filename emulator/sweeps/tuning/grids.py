"""Settings that the tuner chooses between: number of groups, learning rate and momentum."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ...costs.prediction import divisors


class Setting(NamedTuple):
    """A number of compute groups g with a learning rate η and an explicit momentum μ."""

    groups: int
    rate: float
    momentum: float

    def __str__(self) -> str:
        return f"g={self.groups} rate={self.rate:.4g} momentum={self.momentum:g}"


def halved(groups: int, devices: int) -> int:
    """Return half of `groups`, or the largest divisor of `devices` below; at least 1."""
    return max(number for number in divisors(devices) if number <= max(1, groups // 2))


FIRST_RATES = (0.1, 0.01, 0.001, 0.0001)
"""Learning rates of the first grid, of one group."""
FIRST_MOMENTUM = 0.9
"""Momentum of the first grid: the best one of synchronous training for most networks."""
MOMENTA = (0.0, 0.3, 0.6, 0.9)
"""Momenta of every later grid."""

_AROUND = {
    0.0: (0.0, 0.1, 0.2),
    0.3: (0.1, 0.2, 0.3, 0.4, 0.5),
    0.6: (0.4, 0.5, 0.6, 0.7, 0.8),
    0.9: (0.7, 0.8, 0.9),
}


def first_grid(rates: Iterable[float] = FIRST_RATES) -> list[Setting]:
    """Return the grid of one group at the beginning: `rates` with a momentum of 0.9."""
    return [Setting(1, rate, FIRST_MOMENTUM) for rate in sorted(rates)]


def later_grid(groups: int, last_rate: float) -> list[Setting]:
    """Return {η/10, η} × {0, 0.3, 0.6, 0.9} of `groups` groups, η being `last_rate`."""
    return [
        Setting(groups, rate, momentum)
        for rate in (_tenth(last_rate), last_rate)
        for momentum in MOMENTA
    ]


def second_pass(chosen: Setting) -> list[Setting]:
    """Return the finer momenta around that of `chosen`, at its learning rate."""
    momenta = _AROUND.get(chosen.momentum, (chosen.momentum,))
    return [chosen._replace(momentum=momentum) for momentum in momenta]


def full_grid(groups: Iterable[int], rates: Iterable[float] = FIRST_RATES) -> list[Setting]:
    """Return all `groups` × `rates` × momenta: the exhaustive search."""
    return [
        Setting(number, rate, momentum)
        for number in sorted(groups)
        for rate in sorted(rates)
        for momentum in MOMENTA
    ]


def _tenth(rate: float) -> float:
    """Return a tenth of `rate`, without the digits that a binary division adds."""
    return float(f"{rate / 10:.12g}")


COLD = 1.0
"""Buffer at the cold start: the least loss wins."""
STEADY = 1.01
"""Buffer later on: a larger step whose loss is up to 1 % higher wins."""


def choose(losses: Mapping[Setting, float], buffer: float) -> Setting:
    """Return the setting with the least loss, or the last one that is larger and almost as good.

    Among the settings with a larger learning rate, or with the same rate and a larger momentum,
    the last one in ascending order (rate first) with a loss below `buffer` times the least wins.
    `losses` must not be empty.
    """
    ascending = sorted(losses, key=lambda setting: (setting.rate, setting.momentum))
    chosen = min(ascending, key=losses.__getitem__)
    limit = losses[chosen] * buffer
    for setting in ascending[ascending.index(chosen) + 1 :]:
        if losses[setting] < limit:
            chosen = setting
    return chosen


def against_previous(setting: Setting, last: Setting | None) -> str:
    """Return the reason to prune `setting`, given `last`, the choice of fewer groups; or "".

    More groups add implicit momentum, so they bear no larger rate, and no more explicit momentum
    at the same rate. A smaller rate with less momentum takes smaller steps than were needed.
    """
    if last is None:
        return ""
    if setting.rate > last.rate:
        return f"rate above {last.rate:.4g}"
    if setting.rate == last.rate and setting.momentum > last.momentum:
        return f"momentum above {last.momentum:g} at the rate {last.rate:.4g}"
    if setting.rate < last.rate and setting.momentum < last.momentum:
        return f"both rate and momentum below {last.rate:.4g} and {last.momentum:g}"
    return ""


def after_divergence(setting: Setting, diverged: Iterable[Setting]) -> str:
    """Return the reason to rule `setting` out because of `diverged` settings; "" without a reason.

    If training diverges at a rate and a momentum, it does at all that are at least as large.
    """
    for other in diverged:
        if setting.rate >= other.rate and setting.momentum >= other.momentum:
            return f"diverged at rate {other.rate:.4g} and momentum {other.momentum:g}"
    return ""
