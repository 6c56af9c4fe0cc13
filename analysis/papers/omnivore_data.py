"""Rows of the study `omnivore`, as its tables and figures need them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median

from ..facts.asynchrony import groups
from ..facts.group_updates import measured, seconds_to, statistical_efficiency
from ..facts.momentum import MomentumFit, fit, read_trajectory
from ..reading.runs import Run
from .dynacomm_data import Plan, read_plans
from .folder import Row, Study

TARGET = 0.95
FIXED = "fixed"
"""Entry with momentum 0.9 at the learning rate of a single group."""
SYNCHRONOUS = "momentum 0.9"
"""Entry of a single group that is the fixed synchronous strategy."""
MEASURED = "momentum, "
"""Begin of the names of the worlds in which implicit momentum is measured."""


@dataclass(frozen=True)
class Strategy:
    """The results of one entry over its seeds; infinite where the target was never reached."""

    row: Row
    groups: int
    updates: tuple[float, ...]
    """Group updates to the target."""
    seconds: tuple[float, ...]
    """Emulated seconds to the target."""
    pace: tuple[float, ...]
    """Seconds per group update."""
    predicted: Mapping[str, float]
    """HE by the models `formula` and `queue`."""

    @property
    def momentum(self) -> float:
        """Explicit momentum."""
        return 0.9 if self.row.entry == FIXED else float(self.row.entry.split()[-1])


@cache
def strategies(study: Study) -> tuple[Strategy, ...]:
    """Return all strategies with compute groups, in the study's order."""
    hardware = {int(plan["groups"]): plan for plan in read_plans(study)["hardware"]}
    own = (row for row in study.rows if not row.world.startswith(MEASURED))
    return tuple(_strategy(row, hardware) for row in own)


def _strategy(row: Row, hardware: Mapping[int, Plan]) -> Strategy:
    runs = list(row.read())
    count = groups(runs[0]) or 0
    return Strategy(
        row,
        count,
        tuple(statistical_efficiency(run, TARGET) for run in runs),
        tuple(seconds_to(run, TARGET) for run in runs),
        tuple(measured(run) for run in runs),
        {key: float(hardware[count][key]) for key in ("formula", "queue")},
    )


def best(study: Study) -> dict[int, Strategy]:
    """Return, for each number of groups, the strategy with the least median of group updates."""
    found: dict[int, Strategy] = {}
    for strategy in strategies(study):
        if strategy.row.entry == FIXED:
            continue
        held = found.get(strategy.groups)
        if held is None or median(strategy.updates) < median(held.updates):
            found[strategy.groups] = strategy
    return found


def named(study: Study, count: int, entry: str) -> Strategy:
    """Return the strategy `entry` with `count` groups."""
    return next(s for s in strategies(study) if (s.groups, s.row.entry) == (count, entry))


@dataclass(frozen=True)
class Measured:
    """Implicit momentum of the runs of a row."""

    law: str
    """Step times or model, as the world's name ends."""
    groups: int
    rate: float
    """Learning rate η."""
    fit: MomentumFit

    @property
    def theory(self) -> float:
        return 1 - 1 / self.groups

    @property
    def step_share(self) -> float:
        """Step as a share of η/g."""
        return self.fit.step * self.groups / self.rate

    @property
    def step_share_range(self) -> tuple[float, float]:
        low, high = self.fit.step_range or (math.nan, math.nan)
        return low * self.groups / self.rate, high * self.groups / self.rate


@cache
def momenta(study: Study) -> tuple[Measured, ...]:
    """Return the measured momentum of every row that measures it."""
    found = []
    for row in study.rows:
        if row.world.startswith(MEASURED):
            kept = [read_trajectory(folder) for folder in row.runs]
            count = int(row.entry.removeprefix("g = "))
            fitted = fit([run for run in kept if run is not None])
            law = row.world.removeprefix(MEASURED)
            found.append(Measured(law, count, float(row.rate), fitted))
    return tuple(found)


def first_runs(chosen: Sequence[Strategy]) -> list[Run]:
    """Return the run with the first seed of each of the `chosen` strategies."""
    return [next(strategy.row.read()) for strategy in chosen]
