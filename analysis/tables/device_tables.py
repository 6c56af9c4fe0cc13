"""The device tables of a report: a row for every device or, of many devices, every group."""

import pandas as pd

from ..facts.devices import devices, groups
from ..facts.faults import downtime
from ..facts.held_model import held_updates
from ..facts.message_bytes import KINDS, cut_bytes_by_node
from ..figures import link_rates
from ..quantities import figures, percent, seconds, size
from ..reading.runs import Run

Row = tuple[str, ...]

MOST_DEVICES = 200
"""Largest number of devices with a row of their own."""

_WAYS = {"tx": "tx (up)", "rx": "rx (down)"}


def links(run: Run) -> list[Row]:
    """Return the link rates as (device, direction, requested, busiest, share, verdict), in Mbit/s.

    The row of a group has the rates of the busiest link, and counts the verdicts.
    """
    table = link_rates.link_use(run)
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
    for (group, _), own in table.groupby(["group", "what"], sort=False):
        counts = own["verdict"].value_counts()
        verdicts = ", ".join(f"{verdict}: {count:,}" for verdict, count in counts.items())
        rows.append({**own.loc[own["share"].idxmax()], "node": names[group], "verdict": verdicts})
    return pd.DataFrame(rows)


def per_device(run: Run) -> list[Row]:
    """Return a row for every device, or for every group of many devices, with `device_columns`.

    The row of a group has the sums of its devices, and the median of their staleness.
    """
    many = len(devices(run)) > MOST_DEVICES
    names = groups(run) if many else {device.name: device.name for device in devices(run)}
    titles = _titles(run) if many else names
    updates = run.records("update")
    updates = updates.assign(row=updates["node"].map(names), bytes=_weight(updates))
    pulls = run.records("pull")
    pulls = pulls.assign(row=pulls["node"].map(names))
    pushed = updates.groupby("row")["bytes"].sum().to_dict()
    pulled = pulls.groupby("row")["bytes"].sum().to_dict()
    crossed = cut_bytes_by_node(run).groupby(names).sum()
    held = updates.loc[held_updates(run).index].groupby("row")
    count = held.size()
    stale = held["staleness"].median() if len(count) else count
    gone = downtime(run).groupby(names).sum()
    rows = {}
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
    crossed = ["activations"] if len(run.records("activations")) else []
    bytes_columns = ["pushed", "pulled", *crossed, "both"]
    return ["device", "profile", "link", "updates", *bytes_columns, "median staleness", "gone for"]


def _weight(updates: pd.DataFrame) -> "pd.Series[int]":
    return updates[list(KINDS)].sum(axis=1)


def _titles(run: Run) -> dict[str, str]:
    """Return the title of each group's row, for example `home × 200`."""
    sizes = pd.Series(list(groups(run).values())).value_counts()
    return {
        str(name): f"{name} × {count:,}" if count > 1 else str(name)
        for name, count in sizes.items()
    }
