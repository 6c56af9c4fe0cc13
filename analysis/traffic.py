"""Bytes at a node's network interface, as rates between one reading and the next.

The counters hold all that crossed the interface: headers, acknowledgements, heartbeats and
retransmissions too. They start again from zero when a container does.
"""

import numpy as np
import pandas as pd

from .runs import Run

COLUMNS = ("node", "what", "at", "until", "bytes", "mbit")


def rates(run: Run) -> pd.DataFrame:
    """A row for each node, direction (`rx`, `tx`) and interval between two readings.

    Columns: `node`, `what`, `at`, `until` (s), `bytes`, `mbit` (the mean rate, Mbit/s). No
    interval spans a restart: what the new counter holds came after the `boot`.
    """
    readings = run.records("traffic")
    if readings.empty:
        return pd.DataFrame(columns=list(COLUMNS))
    boots = run.records("boot")
    parts = []
    for node, own in readings.groupby("node", sort=False):
        booted = boots.loc[boots["node"] == node, "at"].to_list()
        parts += [_intervals(own, what, booted).assign(node=node, what=what) for what in _WAYS]
    table = pd.concat(parts, ignore_index=True)
    table["mbit"] = table["bytes"] * 8 / 1e6 / (table["until"] - table["at"])
    return table[list(COLUMNS)]


def totals(run: Run) -> pd.DataFrame:
    """Bytes in the whole run: a row a node, columns `rx` and `tx`, restarts added up."""
    readings = run.records("traffic")
    if readings.empty:
        return pd.DataFrame(columns=["rx", "tx"])
    grouped = readings.sort_values("at", kind="stable").groupby("node", sort=False)
    return pd.DataFrame({what: grouped[what].apply(_climb) for what in _WAYS})


def busiest(own: pd.DataFrame, window: float) -> float:
    """The highest mean Mbit/s over any stretch of at least `window` seconds between readings.

    `own` holds one node's intervals in one direction. All of it is one stretch if it is
    shorter; 0 if there is none.
    """
    if own.empty:
        return 0.0
    at, until = own["at"].to_numpy(float), own["until"].to_numpy(float)
    sums = np.concatenate([[0.0], np.cumsum(own["bytes"].to_numpy(float))]) * 8 / 1e6
    first = np.arange(len(at))
    last = np.searchsorted(until, at + window - 1e-6)  # the first interval that ends late enough
    whole = last < len(at)
    if not whole.any():
        return float(sums[-1] / (until[-1] - at[0]))
    first, last = first[whole], last[whole]
    return float(((sums[last + 1] - sums[first]) / (until[last] - at[first])).max())


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


def _climb(counter: pd.Series) -> int:
    """What a counter gained from zero, each fall being a start from zero again."""
    steps = counter.diff().fillna(counter)
    return int(steps.where(steps >= 0, counter).sum())


def _intervals(own: pd.DataFrame, what: str, boots: list[float]) -> pd.DataFrame:
    rows = []
    at, count = float("nan"), 0
    for until, now in zip(own["at"].to_list(), own[what].to_list(), strict=True):
        begin, gained = at, now - count
        if gained < 0:
            begin = max([at, *(boot for boot in boots if at < boot < until)])
            gained = now
        if until > begin:  # false for the first reading too: nothing lies before it
            rows.append((begin, until, gained))
        at, count = until, now
    return pd.DataFrame(rows, columns=["at", "until", "bytes"])
