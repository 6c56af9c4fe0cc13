"""The table of schedules in a report: predicted and realised times of each device's iterations."""

from collections.abc import Sequence
from statistics import median

from ..facts.devices import devices
from ..facts.iterations import DevicePlan, PhaseTimes, device_plans
from ..pictures.gantt import GanttBar
from ..quantities import figures, percent
from ..reading.runs import Run
from .device_tables import MOST_DEVICES, Row

_SHOWN = 8
"""Largest number of segments that a cell names."""


def schedules(run: Run) -> list[Row]:
    """Return a row for every device with a plan, or for every group of many devices.

    Columns: name, schedule, cuts of the pull, cuts of the push; predicted and realised milliseconds
    of the forward phase, the backward phase, the rest and the whole iteration; deviation of the
    iteration; share of the transfer that was hidden. The row of a group has its devices' medians,
    and the cuts of its first device.
    """
    plans = device_plans(run)
    rows: dict[str, list[DevicePlan]] = {}
    many = len(devices(run)) > MOST_DEVICES
    for plan in plans:
        rows.setdefault(plan.group if many else plan.node, []).append(plan)
    return [_row(_title(name, own), own) for name, own in rows.items()]


def _title(name: str, plans: Sequence[DevicePlan]) -> str:
    return f"{name} × {len(plans):,}" if len(plans) > 1 else name


def _row(name: str, plans: Sequence[DevicePlan]) -> Row:
    first = plans[0]
    pairs = [(plan.predicted, plan.realised) for plan in plans]
    predicted = [before for before, _ in pairs]
    realised = [after for _, after in pairs if after is not None]
    hidden = [plan.trace.hidden for plan in plans if plan.trace is not None]
    deviations = [plan.deviation for plan in plans if plan.realised is not None]
    times = (
        f"{_ms(predicted, key)} → {_ms(realised, key)}"
        for key in ("forward", "backward", "rest", "iteration")
    )
    deviation = percent(median(deviations)) if deviations else "–"
    share = percent(median(hidden), 0) if hidden else "–"
    cuts = _cuts(first.plan.pulled), _cuts(first.plan.pushed)
    return (name, first.kind, *cuts, *times, deviation, share)


def _ms(times: Sequence[PhaseTimes], key: str) -> str:
    """Return the median of a part of `times` in milliseconds, or `–` without times."""
    return figures(1e3 * median(getattr(time, key) for time in times)) if times else "–"


def _cuts(bars: Sequence[GanttBar]) -> str:
    """Return the layers of the segments `bars`, for example `1–2 | 3`; of many, the first few."""
    texts = [
        str(first) if first == last else f"{first}–{last}" for (first, last), _, _ in bars[:_SHOWN]
    ]
    more = [f"… ({len(bars)} segments)"] if len(bars) > _SHOWN else []
    return " | ".join([*texts, *more])
