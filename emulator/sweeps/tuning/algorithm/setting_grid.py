"""Grids of learning rates and momenta, as the released code of Omnivore searches them.

All grids ascend: learning rate first, momentum second.
"""

from collections.abc import Iterable

from .setting import Setting

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
