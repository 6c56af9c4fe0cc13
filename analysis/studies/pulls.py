"""How long homes take to a good model, and what travels, by what a pull brings down."""

from collections.abc import Callable, Sequence
from statistics import median

from ..quantities import figures, percent, seconds, size
from ..runs import Run
from .folder import Row, Study, curve
from .markdown import never_or, table

TARGET = 0.97
_COLUMNS: dict[str, Callable[[float], str]] = {
    f"time to {percent(TARGET, 0)}": seconds,
    "updates": figures,
    "pushed": size,
    "pulled": size,
    "updates/s": figures,
}


def tables(study: Study) -> str:
    """What it took to reach the target, medians of the seeds; times are emulated."""
    return table(["pull", *_COLUMNS], [_line(row) for row in study.rows])


def _line(row: Row) -> list[str]:
    seeds = [_seed(run) for run in row.read()]
    columns = zip(_COLUMNS.values(), zip(*seeds, strict=True), strict=True)
    return [row.entry, *(never_or(words)(median(found)) for words, found in columns)]


def _seed(run: Run) -> Sequence[float]:
    """Emulated time, updates, bytes up and down, until the target; infinite if never."""
    found = curve(run)
    enough = found[found["accuracy"] >= TARGET - 1e-9]
    if enough.empty:
        return [float("inf")] * len(_COLUMNS)
    at, updates = float(enough["at"].iloc[0]), float(enough["updates"].iloc[0])
    pushed = run.records("update").iloc[: int(updates)]
    pulls = run.records("pull")
    pulled = pulls[(pulls["at"] <= at) & (pulls["node"] != "evaluator")]
    sent = float(pushed[["values", "indices", "headers", "framing"]].sum().sum())
    return at, updates, sent, float(pulled["bytes"].sum()), updates / at
