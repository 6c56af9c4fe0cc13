"""Baselines: other ways to choose groups, momentum and rate, played to the scenario's target."""

from collections.abc import Callable, Mapping, Sequence

from ..algorithm.setting import Setting, divisors
from ..algorithm.setting_grid import FIRST_MOMENTUM, full_grid

Make = Callable[[int, float, Sequence[float]], list[Setting]]
"""Function of the number of devices, the scenario's learning rate, and the rates of a grid."""

BASELINES: Mapping[str, tuple[str, Make]] = {
    "fixed-sync": (
        "one group with momentum 0.9 at the scenario's learning rate",
        lambda devices, rate, rates: [Setting(1, rate, FIRST_MOMENTUM)],
    ),
    "fixed-async": (
        "a group for each device with momentum 0.9 at the scenario's learning rate",
        lambda devices, rate, rates: [Setting(devices, rate, FIRST_MOMENTUM)],
    ),
    "tuned-sync": (
        "one group with the best momentum and rate of the grid",
        lambda devices, rate, rates: full_grid([1], rates),
    ),
    "tuned-async": (
        "a group for each device with the best momentum and rate of the grid",
        lambda devices, rate, rates: full_grid([devices], rates),
    ),
    "exhaustive": (
        "the best number of groups, momentum and rate of the whole grid",
        lambda devices, rate, rates: full_grid(divisors(devices), rates),
    ),
}
"""Baselines by name, with a description and the settings that they play."""
