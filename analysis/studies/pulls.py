"""Table of the study `pulls`: time and bytes to a target accuracy, by pull coding."""

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
    """Return a table of the costs to reach the target: medians of the seeds, emulated times."""
    return table(["pull", *_COLUMNS], [_line(row) for row in study.rows])


def _line(row: Row) -> list[str]:
    seeds = [_seed(run) for run in row.read()]
    columns = zip(_COLUMNS.values(), zip(*seeds, strict=True), strict=True)
    return [row.entry, *(never_or(words)(median(values)) for words, values in columns)]


def _seed(run: Run) -> Sequence[float]:
    """Return the values of `_COLUMNS` for `run`, all infinite if the target was never reached."""
    evaluations = curve(run)
    enough = evaluations[evaluations["accuracy"] >= TARGET - 1e-9]
    if enough.empty:
        return [float("inf")] * len(_COLUMNS)
    at, updates = float(enough["at"].iloc[0]), float(enough["updates"].iloc[0])
    pushed = run.records("update").iloc[: int(updates)]
    pulls = run.records("pull")
    pulled = pulls[(pulls["at"] <= at) & (pulls["node"] != "evaluator")]
    sent = float(pushed[["values", "indices", "headers", "framing"]].sum().sum())
    return at, updates, sent, float(pulled["bytes"].sum()), updates / at
