"""Tables, verdicts and figures of the study `omnivore`: compute groups and implicit momentum."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from ..facts.group_updates import (
    group_count,
    measured,
    penalties,
    seconds_to,
    statistical_efficiency,
)
from ..facts.momentum import MomentumFit, fit, read_trajectory
from ..pictures.line_styles import series
from ..pictures.picture_file import Print, sheet
from ..pictures.theme import SERIES
from ..quantities import figures, percent
from .claims import Judged, judged
from .declaration import declared
from .folder import Plan, Row, Study, curve, read_plans
from .markdown import never_or, spread, table
from .panels import bars, beside, legend, ranges

TARGET = declared("omnivore").target
FIXED = "fixed"
"""Entry with momentum 0.9 at the learning rate of a single group."""
SYNCHRONOUS = "momentum 0.9"
"""Entry of a single group that is the fixed synchronous strategy."""
MEASURED = "momentum, "
"""Begin of the names of the worlds in which implicit momentum is measured."""


def tables(study: Study) -> list[str]:
    """Return efficiencies by g, fixed strategies, and measured momentum."""
    goal = f"{percent(TARGET, 0)} test accuracy"
    return [
        f"Each number of groups at its best momentum and learning rate, to {goal}; medians "
        "of five seeds (least – most):",
        _efficiencies(study),
        f"Fixed and tuned strategies, to {goal}:",
        _compared(study),
        "Implicit momentum and step, fitted to the runs (95 % of the resamples):",
        _momenta(study),
    ]


# -- rows ------------------------------------------------------------------------------------------


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
    predicted: Plan
    """HE by the models `formula` and `queue`."""

    @property
    def momentum(self) -> float:
        """Explicit momentum."""
        return 0.9 if self.row.entry == FIXED else float(self.row.entry.split()[-1])


@cache
def strategies(study: Study) -> tuple[Strategy, ...]:
    """Return all strategies with compute groups, in the study's order."""
    hardware = {int(plan["groups"]): plan for plan in read_plans(study)["hardware"]}
    found = []
    for row in study.rows:
        if row.world.startswith(MEASURED):
            continue
        runs = list(row.read())
        count = group_count(runs[0]) or 0
        updates = tuple(statistical_efficiency(run, TARGET) for run in runs)
        seconds = tuple(seconds_to(run, TARGET) for run in runs)
        pace = tuple(map(measured, runs))
        found.append(Strategy(row, count, updates, seconds, pace, hardware[count]))
    return tuple(found)


def best(study: Study) -> dict[int, Strategy]:
    """Return, for each number of groups, the strategy with the least median of group updates."""
    found: dict[int, Strategy] = {}
    for strategy in strategies(study):
        if strategy.row.entry != FIXED:
            held = found.setdefault(strategy.groups, strategy)
            found[strategy.groups] = min(held, strategy, key=lambda s: median(s.updates))
    return dict(sorted(found.items()))


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
    def span(self) -> tuple[float, float]:
        """Interval of the momentum."""
        return self.fit.momentum_range or (math.nan, math.nan)

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


# -- verdicts --------------------------------------------------------------------------------------


class Tuned(NamedTuple):
    """A number of groups at its best momentum and learning rate."""

    momentum: float
    seconds: float
    """Median time to the target; infinite if it was never reached."""


class Implicit(NamedTuple):
    """Implicit momentum with memoryless steps, beside the theory's."""

    theory: float
    momentum: float
    least: float
    most: float
    """Ends of the interval of `momentum`."""
    step_share: float
    """Step as a share of η/g."""


def claims(study: Study) -> list[Judged]:
    """Return the claims of the study's file, judged by its runs."""
    tuned = {g: Tuned(s.momentum, median(s.seconds)) for g, s in best(study).items()}
    memoryless = [
        Implicit(found.theory, found.fit.momentum, *found.span, found.step_share)
        for found in momenta(study)
        if found.law.startswith("exponential")
    ]
    untuned = median(named(study, 1, SYNCHRONOUS).seconds)
    fixed = median(named(study, max(tuned), FIXED).seconds)
    return verdicts(tuned, untuned, fixed, memoryless)


def verdicts(
    tuned: Mapping[int, Tuned], untuned: float, fixed: float, memoryless: Sequence[Implicit]
) -> list[Judged]:
    """Return the claims, judged by the given numbers.

    `tuned` is by the number of groups, in ascending order. `untuned` is the time of one group with
    momentum 0.9 at its best rate, and `fixed` that of as many groups as devices with momentum 0.9
    at the same rate.
    """
    times = {g: one.seconds for g, one in tuned.items()}
    synchronous, *_, asynchronous = times.values()
    explicit = [one.momentum for one in tuned.values()]
    apart = [found.momentum - found.theory for found in memoryless]
    steps = [found.step_share - 1 for found in memoryless]
    outside = [f"{f.theory:.3f}" for f in memoryless if not f.least <= f.theory <= f.most]
    farthest, longest = (max(map(abs, own), default=math.nan) for own in (apart, steps))

    def line(name: str, words: str, *values: object) -> Judged:
        return judged("omnivore", name, words, *values)

    def faster(name: str, first: float, second: float) -> Judged:
        return line(name, f"{_time(first)} against {_time(second)}", first, second)

    by_groups = ", ".join(f"{_time(seconds)} (g = {g})" for g, seconds in times.items())
    return [
        line("best g", by_groups, list(times.values())),
        line("untuned", f"{_time(fixed)} against {_time(untuned)}", untuned, fixed),
        faster("tuned", asynchronous, untuned),
        faster("both tuned", asynchronous, synchronous),
        line("explicit momentum", ", ".join(f"{momentum:g}" for momentum in explicit), explicit),
        line("implicit momentum", f"{farthest:.3f} at most", apart),
        line(
            "interval",
            f"outside: {', '.join(outside)}" if outside else "all inside",
            [(found.least, found.theory, found.most) for found in memoryless],
        ),
        line("step", f"{percent(longest)} at most", steps),
    ]


def _time(value: float) -> str:
    return never_or(lambda known: f"{known:.1f} s")(value)


# -- tables ----------------------------------------------------------------------------------------


def _tenths(value: float) -> str:
    return f"{value:.1f}"


def _efficiencies(study: Study) -> str:
    tuned = best(study)
    penalty = penalties({g: median(s.updates) for g, s in tuned.items()})
    lines = []
    for g, strategy in tuned.items():
        known = [strategy.predicted.get(key) for key in ("formula", "queue")]
        lines.append(
            [
                str(g),
                f"{strategy.momentum:g}, {strategy.row.rate}",
                spread([1e3 * seconds for seconds in strategy.pace], _tenths),
                *("–" if seconds is None else _tenths(1e3 * seconds) for seconds in known),
                spread(strategy.updates, figures),
                "–" if math.isnan(penalty[g]) else _tenths(penalty[g]),
                spread(strategy.seconds, _tenths),
            ]
        )
    columns = ["g", "momentum, rate", "HE (ms)", "formula", "queue", "SE", "P_SE", "time (s)"]
    return table(columns, lines)


def _compared(study: Study) -> str:
    tuned = best(study)
    most = max(tuned)
    shown = {
        "synchronous, momentum 0.9": named(study, 1, SYNCHRONOUS),
        "synchronous, tuned": tuned[1],
        "asynchronous, momentum 0.9, rate of the synchronous": named(study, most, FIXED),
        "asynchronous, momentum 0.9, tuned rate": named(study, most, SYNCHRONOUS),
        "asynchronous, tuned": tuned[most],
    }
    lines = [
        [name, f"{s.momentum:g}", s.row.rate, spread(s.seconds, _tenths)]
        for name, s in shown.items()
    ]
    return table(["", "momentum", "rate", "time (s)"], lines)


def _momenta(study: Study) -> str:
    lines = [
        [
            found.law,
            str(found.groups),
            f"{found.theory:.3f}",
            "{:.3f} ({:.3f} – {:.3f})".format(found.fit.momentum, *found.span),
            "{:.3f} ({:.3f} – {:.3f})".format(found.step_share, *found.step_share_range),
            str(found.fit.runs),
        ]
        for found in momenta(study)
    ]
    return table(["", "g", "1 − 1/g", "momentum", "step · g/η", "runs"], lines)


# -- figures ---------------------------------------------------------------------------------------

_LAWS = {"exponential steps": ("o", "-"), "constant steps": ("x", ":"), "mnist-cnn": ("^", "none")}
"""Marker and line of each measurement of momentum."""


def efficiency(study: Study, path: Path, prints: Print | None = None) -> None:
    """Draw HE(g), SE(g) and the time to the target, their product, into `path`."""
    chosen = best(study)
    counts, own = list(chosen), list(chosen.values())
    style = {"marker": "o", "color": SERIES[0]}
    with beside(path, (10.0, 3.4), 3, prints) as (_, panels):
        hardware, statistical, total = panels
        for key, line, colour in (("formula", "--", SERIES[1]), ("queue", ":", SERIES[2])):
            known = {g: s.predicted[key] for g, s in chosen.items() if key in s.predicted}
            if known:
                hardware.plot(list(known), list(known.values()), c=colour, ls=line, label=key)
        ranges(hardware, counts, [s.pace for s in own], label="measured", **style)
        hardware.legend(frameon=False)
        hardware.set(ylabel="HE(g) (s)")
        ranges(statistical, counts, [s.updates for s in own], **style)
        statistical.set(ylabel=f"SE(g) to {percent(TARGET, 0)}")
        ranges(total, counts, [s.seconds for s in own], **style)
        total.set(ylabel=f"Time to {percent(TARGET, 0)} (s)")
        for panel in (hardware, statistical):
            panel.set_yscale("log")
            panel.yaxis.set_minor_locator(NullLocator())
        hardware.set_yticks([0.01, 0.02, 0.05, 0.1, 0.2], ["0.01", "0.02", "0.05", "0.1", "0.2"])
        statistical.set_yticks([100, 200, 500, 1000], ["100", "200", "500", "1000"])
        for panel in panels:
            _group_axis(panel, counts)


def momentum(study: Study, path: Path, prints: Print | None = None) -> None:
    """Draw the best explicit momentum, and measured momentum and step, over g into `path`."""
    with beside(path, (10.0, 3.7), 3, prints) as (drawn, (explicit, implicit, step)):
        chosen = best(study)
        explicit.plot(list(chosen), [s.momentum for s in chosen.values()], marker="o")
        explicit.set(ylabel="Best explicit momentum", ylim=(-0.05, 1))
        _group_axis(explicit, list(chosen))
        counts = sorted({found.groups for found in momenta(study)})
        smooth = np.geomspace(min(counts), max(counts), 100)
        implicit.plot(smooth, 1 - 1 / smooth, color="#777777", linewidth=1.0, label="theory")
        step.axhline(1, color="#777777", linewidth=1.0, label="theory")
        for colour, (law, (marker, line)) in zip(SERIES, _LAWS.items(), strict=False):
            own = [found for found in momenta(study) if found.law == law]
            places = [found.groups for found in own]
            fits = [found.fit.momentum for found in own]
            # a fit without an interval has no bar
            spans = [f.fit.momentum_range or (f.fit.momentum, f.fit.momentum) for f in own]
            style = {"marker": marker, "linestyle": line, "color": colour, "label": law}
            bars(implicit, places, fits, spans, **style)
            shares, ends = [f.step_share for f in own], [f.step_share_range for f in own]
            bars(step, places, shares, ends, **style)
        implicit.set(ylabel="Implicit momentum")
        step.set(ylabel="Step over η/g", ylim=(0, None))
        for panel in (implicit, step):
            _group_axis(panel, counts)
        legend(drawn, step)


def accuracy(study: Study, path: Path, prints: Print | None = None) -> None:
    """Draw the accuracy over time of fixed and of tuned strategies into `path`."""
    tuned = best(study)
    most, soonest = max(tuned), min(tuned.values(), key=lambda s: median(s.seconds))
    shown = {
        "synchronous, momentum 0.9": named(study, 1, SYNCHRONOUS),
        "asynchronous, momentum 0.9": named(study, most, FIXED),
        f"asynchronous, tuned: momentum {tuned[most].momentum:g}": tuned[most],
    }
    if soonest is not tuned[most]:
        shown[f"g = {soonest.groups}, tuned: momentum {soonest.momentum:g}"] = soonest
    with sheet(path, 6.4, 3.6, prints=prints) as drawn:
        panel = drawn.subplots()
        looks = series(len(shown))
        for look, (name, strategy) in zip(looks, shown.items(), strict=True):
            points = curve(next(strategy.row.read()))
            panel.plot(points["at"], 100 * points["accuracy"], label=name, **look.stroke)
        panel.axhline(100 * TARGET, color="#777777", linewidth=0.8)
        panel.set(xlabel="Time (s)", ylabel="Test accuracy (%)", ylim=(0, 100))
        panel.legend(frameon=False, loc="center right")


FIGURES: Mapping[str, tuple[Callable[[Study, Path, Print | None], None], str]] = {
    "efficiency": (
        efficiency,
        "HE(g): seconds per group update; SE(g): group updates to the target; and their product, "
        "the time to the target, over the number of compute groups.",
    ),
    "momentum": (
        momentum,
        "Left: the best explicit momentum over the number of groups. Middle: measured implicit "
        "momentum beside the line 1 − 1/g. Right: the measured step over η/g.",
    ),
    "accuracy": (
        accuracy,
        "Test accuracy over time of synchronous and asynchronous strategies with fixed and with "
        "tuned momentum.",
    ),
}
"""Figures by the end of the file's name, each with its caption."""


def _group_axis(panel: Axes, counts: Sequence[int]) -> None:
    panel.set_xscale("log")
    panel.set_xticks(counts, [str(g) for g in counts])
    panel.xaxis.set_minor_locator(NullLocator())
    panel.set_xlabel("Compute groups g")
