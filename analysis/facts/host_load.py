"""The times in which a host was short of processor time.

A run has a host, or several: one of them that is short holds up the whole run.
"""

import math
from collections.abc import Iterable
from typing import Any

import pandas as pd

from ..reading.runs import Run, fact

HERE = "here"
"""Name of the host of a run on one."""

FULL = 0.95
"""Share of a core from which the server's container is short of processor time."""


@fact
def short_times(run: Run) -> list[tuple[float, float]]:
    """Return begin and end, in emulated seconds, of the times in which a host was short of
    processor time for devices and server, as the records `host` say."""
    return _joined((begin, end, short == 1) for begin, end, short, _ in _seconds(seconds_of(run)))


@fact
def short_times_of(run: Run) -> dict[str, list[tuple[float, float]]]:
    """Return the times of `short_times` for each host, by the name of the host."""
    return {
        str(host): _joined((begin, end, short == 1) for begin, end, short, _ in _seconds(own))
        for host, own in seconds_of(run).groupby("host", sort=False)
    }


@fact
def short_seconds(run: Run) -> tuple[int, int]:
    """Return the seconds in which the host was short, and all seconds that the records judge; of
    several hosts those of the one with the largest share, by which the summary judges the run."""
    judged = seconds_of(run).dropna(subset=["short"]).groupby("host")["short"]
    counts = [(int(own.sum()), len(own)) for _, own in judged]
    return max(counts, key=lambda count: count[0] / count[1], default=(0, 0))


@fact
def server_times(run: Run) -> list[tuple[float, float]]:
    """Return begin and end of the times in which the server used nearly a whole core."""
    return _joined((begin, end, used >= FULL) for begin, end, _, used in _seconds(seconds_of(run)))


def _joined(seconds: Iterable[tuple[float, float, bool]]) -> list[tuple[float, float]]:
    """Return begin and end of the stretches that hold; a single second that does not ends none.

    `seconds` are sorted by their begin.
    """
    spans: list[tuple[float, float]] = []
    for begin, end, holds in seconds:
        if not holds:
            continue
        if spans and begin <= spans[-1][1] + (end - begin):
            spans[-1] = spans[-1][0], max(end, spans[-1][1])  # another host's may end later
        else:
            spans.append((begin, end))
    return spans


@fact
def server_host(run: Run) -> str:
    """Return the name of the server's host, which the manifest of a run on several has first."""
    placed = run.manifest.get("hosts")
    return next(iter(placed), HERE) if isinstance(placed, dict) else HERE


@fact
def seconds_of(run: Run) -> pd.DataFrame:
    """Return a row for each second of the records `host`: `at`, `until`, `busy`, `evaluator`,
    `waits`, `pressure`, `server`, `throttled`, `short`, and the name of the `host`.

    All but the times and the name are fractions, and `short` is 1 or 0; NaN where unknown. A
    dilated run has a row for each real second; `server` is then the share of the core that the
    server has in emulated seconds.
    """
    names = ("busy", "evaluator", "waits", "pressure", "server", "throttled", "short")
    dilation = run.manifest.get("dilation")
    rows: list[tuple[Any, ...]] = []
    for record in run.records("host").to_dict("records"):
        host = record.get("host")
        values = {name: _numbers(record.get(name)) for name in names}
        step = _number(record.get("step"), 1.0)
        count = len(values["busy"])
        first = float(record["at"]) - step * count
        for place in range(count):
            row = [own[place] if len(own) == count else math.nan for own in values.values()]
            row[names.index("server")] *= _number(dilation, 1.0)
            own = host if isinstance(host, str) and host else HERE
            rows.append((max(0.0, first + step * place), first + step * (place + 1), *row, own))
    return pd.DataFrame(rows, columns=["at", "until", *names, "host"])


@fact
def hosts(run: Run) -> pd.DataFrame:
    """Return a row for each host of a run on several: `host`, `devices`, the means `busy` and
    `short` as fractions, and the largest `clock_error` in seconds, NaN for the conductor's host;
    no row for a run on one."""
    placed = run.manifest.get("hosts")
    seconds = seconds_of(run)
    clocks = run.records("host").reindex(columns=["host", "clock_error"])
    rows = []
    for host, names in placed.items() if isinstance(placed, dict) else ():
        own = seconds[seconds["host"] == host]
        errors = clocks[clocks["host"] == host]["clock_error"].astype(float)
        means = float(own["busy"].mean()), float(own["short"].mean())
        rows.append((host, _listed(names), *means, float(errors.max())))
    return pd.DataFrame(rows, columns=["host", "devices", "busy", "short", "clock_error"])


def _listed(names: Any) -> str:
    return ", ".join(map(str, names)) if isinstance(names, list) else ""


def _seconds(rows: pd.DataFrame) -> Iterable[tuple[float, ...]]:
    """Return begin and end of each second, whether it is short, and the share of the server."""
    columns = ["at", "until", "short", "server"]
    return rows.sort_values("at")[columns].itertuples(index=False, name=None)


def _number(value: Any, otherwise: float) -> float:
    known = isinstance(value, int | float) and value > 0
    return float(value) if known else otherwise


def _numbers(value: Any) -> list[float]:
    """Return the numbers of a list; of any other value none."""
    if not isinstance(value, list):
        return []
    return [float(each) for each in value if isinstance(each, int | float)]
