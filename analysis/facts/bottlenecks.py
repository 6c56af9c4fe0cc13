"""The bottlenecks of a run: whose lines are shared, how busy a line was, what each member got."""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pandas as pd

from ..quantities import figures, percent, seconds
from ..reading.runs import Run, fact
from .devices import devices, mbit
from .link_use import SATURATED, carried, charged
from .traffic import rebin

Row = tuple[str, ...]

WAYS = {"tx": "up", "rx": "down"}
"""Directions, as traffic is counted at a device, by the scenario's words."""

MOST_MEMBERS = 40
"""Largest number of members of a bottleneck with a row of their own; the rest is one row."""


@dataclass(frozen=True)
class Bottleneck:
    """A queue that several devices share."""

    name: str
    rates: dict[str, float | None]
    """Mbit/s of `tx` and `rx` that the members share; None without a rate."""
    members: list[str]
    """Names of the devices, in the scenario's order."""

    @property
    def shared(self) -> str:
        """The rates in words, for example `20 Mbit/s up and 50 Mbit/s down`."""
        rates = [f"{figures(rate)} Mbit/s {WAYS[way]}" for way, rate in self.rates.items() if rate]
        return " and ".join(rates)


@fact
def bottlenecks(run: Run) -> list[Bottleneck]:
    """Return the bottlenecks of `run` by its resolved scenario, in the scenario's order."""
    known = _names(run)
    return [_bottleneck(entry, known) for entry in run.scenario.get("bottlenecks") or []]


def _names(run: Run) -> list[tuple[str, str]]:
    """Return the names of each device and of the entry of the device in the scenario."""
    entries = run.scenario.get("devices") or []
    owners = [
        str(entry.get("name")) for entry in entries for _ in range(int(entry.get("count") or 1))
    ]
    return list(zip([device.name for device in devices(run)], owners, strict=False))


def _bottleneck(entry: dict[str, Any], known: list[tuple[str, str]]) -> Bottleneck:
    rates = {way: mbit((entry.get(side) or {}).get("rate")) for way, side in WAYS.items()}
    wanted = [str(name) for name in entry.get("members") or []]
    members = [
        device
        for device, owner in known
        if any(fnmatchcase(device, name) or fnmatchcase(owner, name) for name in wanted)
    ]
    return Bottleneck(str(entry.get("name")), rates, members)


def sentences(run: Run) -> list[str]:
    """Return a sentence for each bottleneck, with the members and the shared rates."""
    return [
        f"{each.name}: {_listed(each.members)} share {each.shared}." for each in bottlenecks(run)
    ]


def _listed(names: list[str]) -> str:
    if len(names) <= 4:
        return ", ".join(names)
    return f"{names[0]}, {names[1]} … {names[-1]} ({len(names):,} devices)"


def lines(run: Run) -> list[Row]:
    """Return a row for each direction of a bottleneck that has a rate: bottleneck, direction,
    shared rate, mean rate and its share, the time for which the line was full and its share."""
    known = bottlenecks(run)
    if not known:
        return []
    names = [each.name for each in known]
    means, own = _means(run), dict(iter(carried(run, names).groupby(["node", "what"])))
    return [
        (
            each.name,
            WAYS[way],
            figures(rate),
            *used(means.get((each.name, way)), rate),
            *filled(own.get((each.name, way)), rate, run.end),
        )
        for each in known
        for way, rate in each.rates.items()
        if rate
    ]


def used(mean: float | None, rate: float) -> Row:
    """Return the `mean` rate of a line, and its share of the line's `rate`."""
    return ("–", "–") if mean is None else (figures(mean), percent(mean / rate, 0))


def filled(own: pd.DataFrame | None, rate: float, end: float) -> Row:
    """Return the time in which the line carried nearly its `rate`, and its share of the run."""
    if own is None or end <= 0:
        return "–", "–"
    lasts = own["until"].clip(upper=end) - own["at"].clip(lower=0)
    full = float(lasts[(lasts > 0) & (own["mbit"] >= SATURATED * rate)].sum())
    return seconds(full), percent(full / end, 0)


def members(run: Run) -> list[Row]:
    """Return a row for each member of each bottleneck: bottleneck, device, the mean rate in Mbit/s
    and the share of the members' traffic up and down, updates.

    Of many members the later ones are one row.
    """
    means, updates = _means(run), run.records("update")["node"].value_counts()
    return [row for each in bottlenecks(run) for row in _members(each, means, updates)]


def _members(
    bottleneck: Bottleneck, means: dict[tuple[str, str], float], updates: "pd.Series[int]"
) -> Iterator[Row]:
    names = bottleneck.members
    rows = [[name] for name in names[:MOST_MEMBERS]]
    rows += [names[MOST_MEMBERS:]] if len(names) > MOST_MEMBERS else []
    for row in rows:
        shares: list[str] = []
        for way in WAYS:
            had = sum(means.get((name, way), 0.0) for name in row)
            whole = sum(means.get((name, way), 0.0) for name in names)
            shares += [figures(had), percent(had / whole if whole else float("nan"), 0)]
        title = row[0] if len(row) == 1 else f"{len(row):,} more"
        count = int(sum(updates.get(name, 0) for name in row))
        yield (bottleneck.name, title, *shares, f"{count:,}")


@fact
def _means(run: Run) -> dict[tuple[str, str], float]:
    """Return the mean Mbit/s from the begin to the end of `run`, by node and `tx` or `rx`, of the
    bottlenecks, with background traffic, and of their members, without it."""
    lines = {each.name for each in bottlenecks(run)}
    names = {name for each in bottlenecks(run) for name in each.members}
    if run.end <= 0 or not lines:
        return {}
    table, edges = charged(run), np.array([0.0, run.end])
    parts = (table[table["node"].isin(names)], carried(run, lines))
    return {
        (str(node), str(way)): float(rebin(rows, edges)[0])
        for part in parts
        for (node, way), rows in part.groupby(["node", "what"])
    }
