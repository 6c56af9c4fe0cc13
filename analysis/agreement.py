"""Do containers and virtual time tell the same? One scenario played in both, number by number."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from . import pushes
from .compare import compare
from .quantities import figures, percent, seconds, size
from .runs import Run
from .targets import target_name, together

COLUMNS = ("quantity", "docker", "virtual", "difference", "measure")

POINTS = 5
"""Evaluations at which the accuracies are compared, the last one aside."""


class _Quantity(NamedTuple):
    words: str
    shown: Callable[[float], str]
    relative: bool = True
    """Whether a difference is told as a share of what containers showed."""


def agreement(docker: Run, virtual: Run) -> pd.DataFrame:
    """What each runtime says of one scenario, and by how much virtual time differs.

    Columns: `quantity`, `docker`, `virtual` (base units, NaN where a run does not say),
    `difference`, and its `measure`: `relative`, as a fraction of docker's, or `absolute`.

    Quantities: `updates_per_second`, `updates`, `duration` (s), `push_bytes_per_update`,
    `push_bytes`, `pull_bytes_per_pull` and `pull_bytes` (to devices), `faults`,
    `staleness_median`, `staleness_p90`, `staleness_max`, `accuracy_at_N` after N updates for some
    evaluations of the containers' (virtual time's is interpolated, should it have been measured
    beside them), `final_accuracy`, `best_accuracy` (fractions), `time_to_90` (s) and so on.
    """
    wanted = together([docker, virtual])
    told = _told(docker, wanted), _told(virtual, wanted)
    values = [
        {**one, **accuracy} for one, accuracy in zip(told, _over(docker, virtual), strict=True)
    ]
    order = sorted(values[0], key=_place)
    return pd.DataFrame(
        [_row(quantity, values[0][quantity], values[1][quantity]) for quantity in order],
        columns=list(COLUMNS),
    )


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """An agreement as text with units, a quantity a row."""
    rows = {}
    for quantity, docker, virtual, difference, _ in table[list(COLUMNS)].itertuples(index=False):
        of = _quantity(quantity)
        shown = [_shown(of, docker), _shown(of, virtual), _difference(of, difference)]
        rows[of.words] = shown
    return pd.DataFrame.from_dict(rows, orient="index", columns=["docker", "virtual", "difference"])


def text(table: pd.DataFrame) -> str:
    """An agreement for a terminal."""
    return str(readable(table).to_string())


def rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """An agreement as plain data for JSON: None where a run does not say."""
    return [
        {str(key): None if _is_nan(value) else value for key, value in row.items()}
        for row in table.to_dict("records")
    ]


# -- what a run says -------------------------------------------------------------------------------


def _told(run: Run, wanted: Sequence[float]) -> dict[str, float]:
    row = compare([run]).iloc[0]
    updates, pulls = run.records("update"), run.records("pull")
    pulls = pulls[pulls["node"] != "evaluator"]
    stale = updates["staleness"].to_numpy(float)
    pushed, pulled = float(pushes.by_kind(run).sum()), float(pulls["bytes"].sum())
    told = {
        "updates": float(row["updates"]),
        "duration": float(row["duration"]),
        "updates_per_second": float(row["updates_per_second"]),
        "push_bytes_per_update": _ratio(pushed, float(row["updates"])),
        "push_bytes": pushed,
        "pull_bytes_per_pull": _ratio(pulled, len(pulls)),
        "pull_bytes": pulled,
        "faults": float(run.faults_begun),
        "staleness_median": float(np.median(stale)) if len(stale) else math.nan,
        "staleness_p90": float(np.quantile(stale, 0.9)) if len(stale) else math.nan,
        "staleness_max": float(stale.max()) if len(stale) else math.nan,
        "final_accuracy": float(row["final_accuracy"]),
        "best_accuracy": float(row["best_accuracy"]),
    }
    times = [f"{_TIME}{target_name(target)}" for target in wanted]
    return told | {time: float(row.get(time, math.nan)) for time in times}


def _over(docker: Run, virtual: Run) -> Iterator[dict[str, float]]:
    """The accuracy of each over updates, at the same few places."""
    curves = [_curve(docker), _curve(virtual)]
    reached = min((one["updates"].max() for one in curves), default=0)
    # before the first update both are the very same model
    known = curves[0].loc[curves[0]["updates"].between(1, reached), "updates"].to_list()
    chosen = {known[place] for place in _spread(len(known) - 1)} if known else set()
    for one in curves:
        found = {at: np.interp(at, one["updates"], one["accuracy"]) for at in sorted(chosen)}
        yield {f"accuracy_at_{int(at)}": float(accuracy) for at, accuracy in found.items()}


def _curve(run: Run) -> pd.DataFrame:
    evaluations = run.records("evaluation").dropna(subset="accuracy")
    return evaluations[["updates", "accuracy"]].drop_duplicates("updates").astype(float)


def _spread(count: int) -> Sequence[int]:
    """Up to POINTS of so many places, evenly: the last is told as final anyway."""
    return [int(place) for place in np.unique(np.linspace(0, max(0, count - 1), POINTS).round())]


# -- rows ------------------------------------------------------------------------------------------


def _row(quantity: str, docker: float, virtual: float) -> tuple[Any, ...]:
    relative = _quantity(quantity).relative
    difference = virtual - docker
    if relative and difference:  # equal is equal, also at zero
        difference = _ratio(difference, docker)
    return quantity, docker, virtual, difference, "relative" if relative else "absolute"


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


_ACCURACY, _TIME = "accuracy_at_", "time_to_"
_QUANTITIES = {
    "updates_per_second": _Quantity("updates / s", figures),
    "updates": _Quantity("updates", figures),
    "duration": _Quantity("duration", seconds),
    "push_bytes_per_update": _Quantity("bytes a push", figures),
    "push_bytes": _Quantity("pushed", size),
    "pull_bytes_per_pull": _Quantity("bytes a pull", figures),
    "pull_bytes": _Quantity("pulled", size),
    "faults": _Quantity("faults", figures, relative=False),
    "staleness_median": _Quantity("staleness, median", figures, relative=False),
    "staleness_p90": _Quantity("staleness, 9 of 10 below", figures, relative=False),
    "staleness_max": _Quantity("staleness, highest", figures, relative=False),
    _ACCURACY: _Quantity("", lambda share: percent(share, 2), relative=False),
    "final_accuracy": _Quantity("final accuracy", lambda share: percent(share, 2), relative=False),
    "best_accuracy": _Quantity("best accuracy", lambda share: percent(share, 2), relative=False),
    _TIME: _Quantity("", seconds),
}
"""In the order in which they are told."""


def _quantity(name: str) -> _Quantity:
    if name.startswith(_ACCURACY):
        after = int(name.removeprefix(_ACCURACY))
        return _QUANTITIES[_ACCURACY]._replace(words=f"accuracy after {after:,} updates")
    if name.startswith(_TIME):
        return _QUANTITIES[_TIME]._replace(words=f"time to {name.removeprefix(_TIME)} %")
    return _QUANTITIES[name]


def _place(name: str) -> tuple[int, float]:
    for prefix in (_ACCURACY, _TIME):
        if name.startswith(prefix):
            return list(_QUANTITIES).index(prefix), float(name.removeprefix(prefix))
    return list(_QUANTITIES).index(name), 0.0


def _shown(of: _Quantity, value: float) -> str:
    return "–" if math.isnan(value) else of.shown(value)


def _difference(of: _Quantity, difference: float) -> str:
    if math.isnan(difference):
        return "–"
    if difference == 0:
        return "none"
    if of.relative:
        return f"{difference * 100:+.3g} %"
    if "accuracy" in of.words:
        return f"{difference * 100:+.2f} points"
    return f"{difference:+.3g}"


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
