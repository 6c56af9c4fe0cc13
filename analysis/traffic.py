"""Bytes at a node's network interface, as rates between one reading and the next.

The counters hold all that crossed the interface: headers, acknowledgements, heartbeats and
retransmissions too. Neither runtime starts them again, as a crash leaves the interface in place. A
counter that is lower after a `boot` than before did start again from zero, and what it holds is
new; where it falls without one, nothing is new until it is higher than it ever was.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from .facts import fact
from .runs import BOOT, Run

COLUMNS = ("node", "what", "at", "until", "bytes", "mbit")


@fact
def rates(run: Run) -> pd.DataFrame:
    """A row for each node, direction (`rx`, `tx`) and interval between two readings.

    Columns: `node`, `what`, `at`, `until` (s), `bytes`, `mbit` (the mean rate, Mbit/s). No
    interval spans a restart: what the new counter holds came after the `boot`.
    """
    readings = run.records("traffic")
    if readings.empty:
        return pd.DataFrame(columns=list(COLUMNS))
    boots = _boots(run)
    parts = []
    for node, own in readings.groupby("node", sort=False):
        booted = boots.get(node, [])
        parts += [_intervals(own, what, booted).assign(node=node, what=what) for what in _WAYS]
    table = pd.concat(parts, ignore_index=True)
    table["mbit"] = table["bytes"] * 8 / 1e6 / (table["until"] - table["at"])
    return table[list(COLUMNS)]


@fact
def totals(run: Run) -> pd.DataFrame:
    """Return each node's bytes in the whole run: a row a node, columns `rx` and `tx`."""
    readings = run.records("traffic")
    if readings.empty:
        return pd.DataFrame(columns=["rx", "tx"])
    grouped = readings.sort_values("at", kind="stable").groupby("node", sort=False)
    counters = grouped[list(_WAYS)]
    if not (counters.diff() < 0).any(axis=None):
        return counters.last()  # large fleets have no time for more
    boots = _boots(run)
    rows = {
        node: [_climb(own, what, boots.get(node, [])) for what in _WAYS] for node, own in grouped
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(_WAYS))


def busiest(own: pd.DataFrame, window: float, at_once: float = 0.0) -> float:
    """Return the highest mean Mbit/s over any stretch of at least `window` seconds.

    `own` holds one node's intervals in one direction. All of it is one stretch if it is
    shorter; 0 if there is none. `at_once`: bytes that each stretch has for nothing.
    """
    if own.empty:
        return 0.0
    at, until = own["at"].to_numpy(float), own["until"].to_numpy(float)
    sums = np.concatenate([[0.0], np.cumsum(own["bytes"].to_numpy(float))]) * 8 / 1e6
    spare = at_once * 8 / 1e6
    first = np.arange(len(at))
    last = np.searchsorted(until, at + window - 1e-6)  # the first interval that ends late enough
    whole = last < len(at)
    if not whole.any():
        return float((sums[-1] - spare) / (until[-1] - at[0]))
    first, last = first[whole], last[whole]
    return float(((sums[last + 1] - sums[first] - spare) / (until[last] - at[first])).max())


def rebin(own: pd.DataFrame, edges: np.ndarray) -> np.ndarray:
    """Mean Mbit/s in each bin, from rows of `at`, `until`, `mbit`: fewer points, the same bytes."""
    if own.empty:
        return np.zeros(len(edges) - 1)
    spans = own[["at", "until"]].to_numpy(float)
    gained = own["mbit"].to_numpy(float) * (spans[:, 1] - spans[:, 0])
    sums = np.cumsum(gained)
    known = np.column_stack([sums - gained, sums]).ravel()
    return np.diff(np.interp(edges, spans.ravel(), known)) / np.diff(edges)


def bins(own: pd.DataFrame, width: float) -> np.ndarray:
    """Edges from the first `at` to the last `until`, about `width` seconds apart."""
    begin, end = own["at"].min(), own["until"].max()
    return np.linspace(begin, end, max(1, round((end - begin) / width)) + 1)


def width(table: pd.DataFrame, most: int) -> float:
    """Seconds a bin, that no run in the table has more than `most`; a second at least."""
    return max(1.0, (table["until"].max() - table["at"].min()) / most)


def extent(table: pd.DataFrame) -> tuple[float, float]:
    """What a time axis shows: from the run's zero, as nobody may speak before, to the end."""
    end = table["until"].max()
    return (0.0, end) if end > 0 else (table["at"].min(), end)


_WAYS = ("rx", "tx")


def _boots(run: Run) -> dict[str, list[float]]:
    """When each node booted again."""
    faults = run.faults
    booted = faults[faults["what"] == BOOT].sort_values("at")
    return {node: own["at"].to_list() for node, own in booted.groupby("node")}


def _climb(own: pd.DataFrame, what: str, boots: list[float]) -> int:
    """Return the bytes that a counter gained from zero."""
    return sum(gained for _, _, gained in _gains(own, what, boots))


def _intervals(own: pd.DataFrame, what: str, boots: list[float]) -> pd.DataFrame:
    # the first reading has nothing before it, and begins at NaN
    rows = [row for row in _gains(own, what, boots) if row[1] > row[0]]
    return pd.DataFrame(rows, columns=["at", "until", "bytes"])


def _gains(own: pd.DataFrame, what: str, boots: list[float]) -> Iterator[tuple[float, float, int]]:
    """Yield for each reading since when, until when, and how many bytes the counter gained."""
    at, last, highest = float("nan"), 0, 0
    for until, now in zip(own["at"].to_list(), own[what].to_list(), strict=True):
        booted = [boot for boot in boots if at < boot < until] if now < last else []
        if booted:
            at, highest = max(booted), 0
        yield at, until, max(0, now - highest)
        at, last, highest = until, now, max(highest, now)
