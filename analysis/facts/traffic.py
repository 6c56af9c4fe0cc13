"""Bytes at a node's network interface, as rates between two readings of its counters.

The counters hold all bytes at the interface, with headers, acknowledgements, heartbeats and
retransmissions. Neither runtime resets a counter: a crash leaves the interface in place. If a
counter is lower after a `boot` than before, it has restarted from zero, and its value is new bytes.
If a counter falls without a `boot`, it gains nothing until it exceeds its highest value.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from ..reading.runs import BOOTS, Run, fact

COLUMNS = ("node", "what", "at", "until", "bytes", "mbit")


@fact
def rates(run: Run) -> pd.DataFrame:
    """Return a row for every node, direction and interval between two readings.

    Columns: `node`, `what` (`rx` or `tx`), `at`, `until` (s), `bytes`, `mbit` (the mean rate in
    Mbit/s). An interval in which a counter restarted begins at the `boot`.
    """
    return _rates(run.records("traffic"), _boots(run))


@fact
def background_rates(run: Run) -> pd.DataFrame:
    """Return the rates of background traffic at devices, bottlenecks and links of the network, as
    `rates` does; `rx` is the direction `down`, `tx` the direction `up`."""
    return _rates(run.records("background"), {})


def _rates(readings: pd.DataFrame, boots: dict[Any, list[float]]) -> pd.DataFrame:
    """Return a row for every node, direction and interval of the counters in `readings`."""
    if readings.empty:
        return pd.DataFrame(columns=list(COLUMNS))
    parts = []
    for node, own in readings.groupby("node", sort=False):
        booted = boots.get(node, [])
        parts += [_intervals(own, what, booted).assign(node=node, what=what) for what in _WAYS]
    table = pd.concat(parts, ignore_index=True)
    table["mbit"] = table["bytes"] * 8 / 1e6 / (table["until"] - table["at"])
    return table[list(COLUMNS)]


@fact
def totals(run: Run) -> pd.DataFrame:
    """Return the bytes of every node in the whole run, in the columns `rx` and `tx`."""
    readings = run.records("traffic")
    if readings.empty:
        return pd.DataFrame(columns=["rx", "tx"])
    grouped = readings.sort_values("at", kind="stable").groupby("node", sort=False)
    counters = grouped[list(_WAYS)]
    if not (counters.diff() < 0).any(axis=None):
        # without a restart the last reading is the total: the loop below is slow for large fleets
        return counters.last()
    boots = _boots(run)
    rows = {
        node: [_climb(own, what, boots.get(node, [])) for what in _WAYS] for node, own in grouped
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(_WAYS))


def busiest(own: pd.DataFrame, window: float, at_once: float = 0.0) -> float:
    """Return the highest mean Mbit/s over any stretch of at least `window` seconds.

    `own` has the intervals of one node in one direction. If they are shorter than `window`, all of
    them are the stretch; without intervals the rate is 0. `at_once` bytes of every stretch are not
    counted.
    """
    if own.empty:
        return 0.0
    at, until = own["at"].to_numpy(float), own["until"].to_numpy(float)
    sums = np.concatenate([[0.0], np.cumsum(own["bytes"].to_numpy(float))]) * 8 / 1e6
    spare = at_once * 8 / 1e6
    first = np.arange(len(at))
    # for each begin, the first interval that ends at least `window` seconds later
    last = np.searchsorted(until, at + window - 1e-6)
    whole = last < len(at)
    if not whole.any():
        return float((sums[-1] - spare) / (until[-1] - at[0]))
    first, last = first[whole], last[whole]
    return float(((sums[last + 1] - sums[first] - spare) / (until[last] - at[first])).max())


def rebin(own: pd.DataFrame, edges: np.ndarray) -> np.ndarray:
    """Return the mean Mbit/s in each bin between `edges`, from the rows of `own`.

    The sum of bytes is the same as in the rows; the curve has fewer points.
    """
    if own.empty:
        return np.zeros(len(edges) - 1)
    spans = own[["at", "until"]].to_numpy(float)
    gained = own["mbit"].to_numpy(float) * (spans[:, 1] - spans[:, 0])
    sums = np.cumsum(gained)
    known = np.column_stack([sums - gained, sums]).ravel()
    means: np.ndarray = np.diff(np.interp(edges, spans.ravel(), known)) / np.diff(edges)
    return means


def bins(own: pd.DataFrame, width: float) -> np.ndarray:
    """Return bin edges from the first `at` to the last `until`, about `width` seconds apart."""
    begin, end = own["at"].min(), own["until"].max()
    return np.linspace(begin, end, max(1, round((end - begin) / width)) + 1)


def width(table: pd.DataFrame, most: int) -> float:
    """Return the seconds of a bin, at least 1, such that `table` has at most `most` bins."""
    return max(1.0, float(table["until"].max() - table["at"].min()) / most)


def extent(table: pd.DataFrame) -> tuple[float, float]:
    """Return the limits of a time axis: 0, when the training starts, and the end of `table`."""
    end = table["until"].max()
    return (0.0, end) if end > 0 else (table["at"].min(), end)


_WAYS = ("rx", "tx")


def _boots(run: Run) -> dict[Any, list[float]]:
    """Return the times of the boots of every node, by name."""
    faults = run.faults
    booted = faults[faults["what"].isin(list(BOOTS))].sort_values("at")
    return {node: own["at"].to_list() for node, own in booted.groupby("node")}


def _climb(own: pd.DataFrame, way: str, boots: list[float]) -> int:
    """Return the bytes that the counter `way` gained in the whole run."""
    return sum(gained for _, _, gained in _gains(own, way, boots))


def _intervals(own: pd.DataFrame, way: str, boots: list[float]) -> pd.DataFrame:
    # the first reading has no begin (NaN), so the comparison leaves it out
    rows = [row for row in _gains(own, way, boots) if row[1] > row[0]]
    return pd.DataFrame(rows, columns=["at", "until", "bytes"])


def _gains(own: pd.DataFrame, way: str, boots: list[float]) -> Iterator[tuple[float, float, int]]:
    """Yield begin, end and gained bytes of the counter `way`, for every reading in `own`."""
    at, last, highest = float("nan"), 0, 0
    for until, now in zip(own["at"].to_list(), own[way].to_list(), strict=True):
        booted = [boot for boot in boots if at < boot < until] if now < last else []
        if booted:
            at, highest = max(booted), 0
        yield at, until, max(0, now - highest)
        at, last, highest = until, now, max(highest, now)
