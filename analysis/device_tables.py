"""The tables of a report that have a row a device; in a large fleet, a row for devices alike."""

import pandas as pd

from . import pushes
from .devices import devices, groups
from .faults import downtime
from .figures import link_rates
from .quantities import figures, percent, seconds, size
from .runs import Run

Row = tuple[str, ...]

MOST = 200
"""Devices that are told one by one."""

_WAYS = {"tx": "tx (up)", "rx": "rx (down)"}


def links(run: Run) -> list[Row]:
    """Achieved against requested, as (device, direction, requested, busiest, share, verdict).

    Of devices alike, the one whose link was busiest, and how many have each verdict.
    """
    table = link_rates.link_use(run)
    columns = ["node", "what", "requested", "busiest", "share", "verdict"]
    if len(devices(run)) > MOST and not table.empty:
        table = _alike(run, table)
    return [
        (node, _WAYS[way], figures(asked), figures(busiest), percent(share, 0), verdict)
        for node, way, asked, busiest, share, verdict in table[columns].itertuples(index=False)
    ]


def _alike(run: Run, table: pd.DataFrame) -> pd.DataFrame:
    names = _fleets(run)
    rows = []
    for (group, _), own in table.groupby(["group", "what"], sort=False):
        counts = own["verdict"].value_counts()
        told = ", ".join(f"{verdict}: {count:,}" for verdict, count in counts.items())
        rows.append({**own.loc[own["share"].idxmax()], "node": names[group], "verdict": told})
    return pd.DataFrame(rows)


def per_device(run: Run) -> list[Row]:
    """(name, profile, link, updates, pushed, pulled, median staleness, gone for) of each.

    Of devices alike the sums, but for the staleness.
    """
    many = len(devices(run)) > MOST
    names = groups(run) if many else {device.name: device.name for device in devices(run)}
    titles = _fleets(run) if many else names
    updates = run.records("update")
    updates = updates.assign(who=updates["node"].map(names), bytes=_weight(updates))
    pulls = run.records("pull")
    pulls = pulls.assign(who=pulls["node"].map(names))
    pushed, pulled = (one.groupby("who")["bytes"].sum().to_dict() for one in (updates, pulls))
    count = updates.groupby("who").size()
    stale = updates.groupby("who")["staleness"].median() if len(updates) else count
    gone = downtime(run).groupby(names).sum()
    rows = {}
    for device in devices(run):
        who = names[device.name]
        rows[who] = rows.get(who) or (
            titles[who],
            device.profile,
            device.link,
            figures(count.get(who, 0)),
            size(pushed.get(who, 0)),
            size(pulled.get(who, 0)),
            figures(stale[who]) if who in stale else "–",
            seconds(gone[who]) if who in gone else "",
        )
    return list(rows.values())


def _weight(updates: pd.DataFrame) -> "pd.Series[int]":
    return updates[list(pushes.KINDS)].sum(axis=1)


def _fleets(run: Run) -> dict[str, str]:
    """What a group is called in a row of its own."""
    sizes = pd.Series(list(groups(run).values())).value_counts()
    return {
        str(name): f"{name} × {count:,}" if count > 1 else str(name)
        for name, count in sizes.items()
    }
