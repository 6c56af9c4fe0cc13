"""The device tables of a report: a row for every device or, of many devices, every group.

They show links, devices, and the predicted and realised times of iterations by schedule.
"""

import math
from collections.abc import Sequence
from statistics import median
from typing import Any

import pandas as pd

from ..facts.devices import devices, groups
from ..facts.faults import downtime
from ..facts.held_model import held_updates
from ..facts.host_load import hosts
from ..facts.iterations import DevicePlan, PhaseTimes, device_plans
from ..facts.link_use import link_use
from ..facts.message_bytes import KINDS, cut_bytes_by_node
from ..facts.traffic import totals
from ..pictures.gantt import GanttBar
from ..quantities import figures, percent, seconds, size
from ..reading.runs import Run

Row = tuple[str, ...]

MOST_DEVICES = 200
"""Largest number of devices with a row of their own."""

_SHOWN = 8
"""Largest number of segments that a cell names."""

_WAYS = {"tx": "tx (up)", "rx": "rx (down)"}


def links(run: Run) -> list[Row]:
    """Return the link rates as (device, direction, requested, busiest, share, verdict), in Mbit/s.

    The row of a group has the rates of the busiest link, and counts the verdicts.
    """
    table = link_use(run)
    columns = ["node", "what", "requested", "busiest", "share", "verdict"]
    if len(devices(run)) > MOST_DEVICES and not table.empty:
        table = _by_group(run, table)
    return [
        (node, _WAYS[way], figures(asked), figures(busiest), percent(share, 0), verdict)
        for node, way, asked, busiest, share, verdict in table[columns].itertuples(index=False)
    ]


def _by_group(run: Run, table: pd.DataFrame) -> pd.DataFrame:
    names = _titles(run)
    rows = []
    for _, own in table.groupby(["group", "what"], sort=False):
        counts = own["verdict"].value_counts()
        verdicts = ", ".join(f"{verdict}: {count:,}" for verdict, count in counts.items())
        place: Any = own["share"].idxmax()
        busiest = own.loc[place]
        rows.append({**busiest, "node": names[busiest["group"]], "verdict": verdicts})
    return pd.DataFrame(rows)


def per_device(run: Run) -> list[Row]:
    """Return a row for every device, or for every group of many devices, with `device_columns`.

    The row of a group has the sums of its devices, and the median of their staleness.
    """
    if run.workload:
        return _at_interfaces(run)
    many = len(devices(run)) > MOST_DEVICES
    names = groups(run) if many else {device.name: device.name for device in devices(run)}
    titles = _titles(run) if many else names
    updates = run.records("update")
    updates = updates.assign(row=updates["node"].map(names), bytes=_weight(updates))
    pulls = run.records("pull")
    pulls = pulls.assign(row=pulls["node"].map(names))
    pushed = updates.groupby("row")["bytes"].sum().to_dict()
    pulled = pulls.groupby("row")["bytes"].sum().to_dict()
    crossed = cut_bytes_by_node(run).groupby(names.get).sum()
    held = updates.loc[held_updates(run).index].groupby("row")
    count = held.size()
    stale = held["staleness"].median() if len(count) else count
    gone = downtime(run).groupby(names.get).sum()
    rows: dict[str, Row] = {}
    for device in devices(run):
        name = names[device.name]
        rows[name] = rows.get(name) or (
            titles[name],
            device.profile,
            device.link,
            figures(count.get(name, 0)),
            size(pushed.get(name, 0)),
            size(pulled.get(name, 0)),
            *([size(crossed.get(name, 0))] if len(crossed) else []),
            size(sum(sums.get(name, 0) for sums in (pushed, pulled, crossed))),
            figures(stale[name]) if name in stale else "–",
            seconds(gone[name]) if name in gone else "",
        )
    return list(rows.values())


def device_columns(run: Run) -> list[str]:
    """Return the heads of the columns of `per_device`; activations only with a cut model."""
    if run.workload:
        return ["device", "profile", "link", "sent", "received", "both", "gone for"]
    crossed = ["activations"] if len(run.records("activations")) else []
    bytes_columns = ["pushed", "pulled", *crossed, "both"]
    return ["device", "profile", "link", "updates", *bytes_columns, "median staleness", "gone for"]


def _at_interfaces(run: Run) -> list[Row]:
    """Return a row for every device of a workload: the bytes at its interface, of whatever kind."""
    counted, gone = totals(run), downtime(run)
    rows: list[Row] = []
    for device in devices(run)[:MOST_DEVICES]:
        there = device.name in counted.index
        sent, received = (int(counted[way][device.name]) if there else 0 for way in ("tx", "rx"))
        amounts = size(sent), size(received), size(sent + received)
        away = seconds(gone[device.name]) if device.name in gone else ""
        rows.append((device.name, device.profile, device.link, *amounts, away))
    return rows


def _weight(updates: pd.DataFrame) -> "pd.Series[int]":
    return updates[list(KINDS)].sum(axis=1)


def _titles(run: Run) -> dict[str, str]:
    """Return the title of each group's row, for example `home × 200`."""
    sizes = pd.Series(list(groups(run).values())).value_counts()
    return {
        str(name): f"{name} × {count:,}" if count > 1 else str(name)
        for name, count in sizes.items()
    }


# -- schedules -------------------------------------------------------------------------------------


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


def hosts_table(run: Run) -> list[Row]:
    """Return a row for each host of a run on several, as the report's section on hosts has it."""
    return [
        (
            row["host"],
            row["devices"] or "–",
            percent(row["busy"]),
            percent(row["short"]),
            "–" if math.isnan(row["clock_error"]) else f"{1e3 * row['clock_error']:.2f} ms",
        )
        for row in hosts(run).to_dict("records")
    ]
