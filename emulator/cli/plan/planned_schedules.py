"""Plans of all schedules for a device's costs, as a table, as JSON, and as rows of a chart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from rich.table import Table

from ...errors import counted
from ...layout import Segment
from ...schedules import (
    Cuts,
    DynaComm,
    IBatch,
    LayerByLayer,
    LayerCosts,
    Schedule,
    Segments,
    Sequential,
    cut,
)
from ...schedules.base import Time, slack
from ...schedules.timing import IterationTiming, iteration
from ..output import table

SCHEDULES: tuple[Schedule, ...] = (DynaComm(), Sequential(), LayerByLayer(), IBatch())
"""Schedules in the order in which they are shown."""

_SHOWN = 8
"""Largest number of segments of which a cell names all."""


@dataclass(frozen=True)
class PlannedSchedules:
    """Costs of a device, and an iteration by each schedule."""

    device: str
    """Name of the device, or of the group whose devices all have these costs."""
    costs: LayerCosts

    @cached_property
    def plans(self) -> Mapping[str, tuple[Cuts, IterationTiming]]:
        """Cuts and times of an iteration, by kind of schedule."""
        all_cuts = {schedule.kind: cut(schedule, self.costs) for schedule in SCHEDULES}
        return {kind: (cuts, iteration(cuts, self.costs)) for kind, cuts in all_cuts.items()}

    def plain(self) -> dict[str, Any]:
        """Return costs and plans as JSON types.

        A time is a number, or a text like `7/3` if no decimal number equals it. `setup` is one
        number if both directions have the same, else a mapping with `pull` and `push`.
        """
        costs = self.costs
        setups = {"pull": number(costs.pull_setup), "push": number(costs.push_setup)}
        lists = {key: list(map(number, getattr(costs, key))) for key in ("pull", "forward")}
        lists |= {key: list(map(number, getattr(costs, key))) for key in ("backward", "push")}
        return {
            "device": self.device,
            "setup": setups["pull"] if costs.pull_setup == costs.push_setup else setups,
            **lists,
            "schedules": {
                kind: {
                    "pull": list(map(_short, cuts.pull)),
                    "push": list(map(_short, cuts.push)),
                    "t_forward": number(times.forward.seconds),
                    "t_backward": number(times.backward.seconds),
                }
                for kind, (cuts, times) in self.plans.items()
            },
        }

    def shown(self) -> Table:
        """Return a table with a row for each schedule."""
        columns = ("schedule", "pull", "push", "T_f", "T_b", "iteration", "hidden", "speed-up")
        made = table(*columns)
        slowest = self.plans[Sequential().kind][1].seconds
        for kind, (cuts, times) in self.plans.items():
            hidden = _hidden(times)
            made.add_row(
                kind,
                segments(cuts.pull),
                segments(cuts.push),
                seconds(times.forward.seconds),
                seconds(times.backward.seconds),
                seconds(times.seconds),
                f"{seconds(hidden)} ({share(hidden, _transfers(times))})",
                f"{float(slowest / times.seconds):.2f}" if times.seconds else "-",
            )
        return made

    @property
    def title(self) -> str:
        """The device with its layers and costs, in words."""
        costs, layers = self.costs, len(self.costs.pull)
        setups = seconds(costs.pull_setup)
        if costs.pull_setup != costs.push_setup:
            setups = f"{setups} down, {seconds(costs.push_setup)} up"
        words = [
            counted(layers, "layer"),
            f"set-up {setups}",
            *(f"{key} {seconds(sum(getattr(costs, key)))}" for key in ("pull", "forward")),
            *(f"{key} {seconds(sum(getattr(costs, key)))}" for key in ("backward", "push")),
        ]
        return f"{self.device}: {', '.join(words)}"

    def gantt_rows(self, gantt: Any) -> list[Any]:
        """Return a row for each schedule, made by the module `gantt` of the analysis."""
        return [
            gantt.gantt_row(
                kind,
                pull=cuts.pull,
                push=cuts.push,
                pulled=_floats(times.forward.transfers),
                forward=gantt.segment_spans(cuts.pull, _floats(times.forward.computes)),
                backward=gantt.segment_spans(cuts.push, _floats(times.backward.computes)),
                pushed=_floats(times.backward.transfers),
            )
            for kind, (cuts, times) in self.plans.items()
        ]


def number(time: Time) -> float | int | str:
    """Return `time` as JSON holds it exactly: a number, else a text like `7/3`."""
    if not isinstance(time, Fraction):
        return time
    if time.denominator == 1:
        return time.numerator
    nearest = float(time)
    # the shortest decimal number that reads as this float, which JSON writes
    return nearest if Fraction(repr(nearest)) == time else str(time)


def seconds(time: Time) -> str:
    """Return `time` in words with four significant digits, for example `12.5 ms`."""
    value = float(time)
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if value >= 1 / scale or unit == "us" or not value:
            return f"{value * scale:.4g} {unit}"
    raise AssertionError


def share(part: Time, whole: Time) -> str:
    """Return `part` in per cent of `whole`, or `-` if `whole` is zero."""
    return f"{100 * float(part / whole):.0f} %" if whole else "-"


def segments(cuts: Segments) -> str:
    """Return `cuts` in words, for example `1-2, 3`; of many segments only the first ones."""
    words = [f"{first}-{last}" if first < last else str(first) for first, last in cuts]
    if len(words) <= _SHOWN:
        return ", ".join(words)
    return f"{', '.join(words[:3])}, … {words[-1]} ({len(words)} segments)"


def _short(segment: Segment) -> list[int]:
    """Return first and last layer, or the only layer, of `segment`."""
    first, last = segment
    return [first] if first == last else [first, last]


def _hidden(times: IterationTiming) -> Time:
    """Return the seconds in which both the link and the processor are busy."""
    hidden = times.forward.overlapped + times.backward.overlapped
    # a difference of floats: below its rounding it is none
    return hidden if hidden > slack(times.seconds) else 0


def _transfers(times: IterationTiming) -> Time:
    """Return the seconds in which the link is busy in an iteration."""
    spans = (*times.forward.transfers, *times.backward.transfers)
    return sum(end - began for began, end in spans)


def _floats(spans: Sequence[tuple[Time, Time]]) -> list[tuple[float, float]]:
    return [(float(began), float(end)) for began, end in spans]
