"""The agreement of containers and virtual time on one scenario, quantity by quantity."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..facts.held_model import held_evaluations, held_updates
from ..facts.message_bytes import both_bytes, cut_bytes, device_pulls, pull_counts, pushed_by_kind
from ..quantities import figures, percent, seconds, size
from ..reading.protocol import is_regression
from ..reading.runs import Run
from .compare import compare, target_name, together

COLUMNS = ("quantity", "docker", "virtual", "difference", "measure")

POINTS = 5
"""Number of evaluations at which the accuracies are compared, in addition to the last one."""


class _Quantity(NamedTuple):
    """A compared quantity: its name in words, its format, and the measure of a difference."""

    words: str
    shown: Callable[[float], str]
    relative: bool = True
    """Whether the difference is given as a share of the containers' value."""


def agreement(docker: Run, virtual: Run) -> pd.DataFrame:
    """Return the quantities of the runs `docker` and `virtual`, and their differences.

    Columns: `quantity`, `docker`, `virtual` (base units, NaN for an unknown value), `difference`,
    and its `measure`: `relative`, as a fraction of the value in containers, or `absolute`.

    Quantities: `updates_per_second`, `updates`, `duration` (s), `push_bytes_per_update`,
    `push_bytes`, `pull_bytes_per_pull` and `pull_bytes` (to devices), with a cut model
    `activation_bytes_per_update` and `activation_bytes`, `both_bytes` of both directions, `faults`,
    `staleness_median`, `staleness_p90`, `staleness_max`, `accuracy_at_N` after N updates for some
    evaluations of the containers' run (interpolated in virtual time's run if that was measured at
    other versions), `final_accuracy`, `best_accuracy` (fractions), `time_to_90` (s) and so on.
    Regressions have `error_at_N`, `final_error` and `best_error` in place of accuracies.
    """
    wanted = together([docker, virtual])
    facts = _facts(docker, wanted), _facts(virtual, wanted)
    scores = _common_scores(docker, virtual)
    values = [{**row, **score} for row, score in zip(facts, scores, strict=True)]
    order = sorted({**values[0], **values[1]}, key=_place)
    known = [[row.get(quantity, math.nan) for row in values] for quantity in order]
    return pd.DataFrame(
        [_row(quantity, *pair) for quantity, pair in zip(order, known, strict=True)],
        columns=list(COLUMNS),
    )


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """Return the agreement `table` as text with units, with a row for every quantity."""
    rows = {}
    for name, docker, virtual, difference, _ in table[list(COLUMNS)].itertuples(index=False):
        quantity = _quantity(name)
        rows[quantity.words] = [
            _shown(quantity, docker),
            _shown(quantity, virtual),
            _difference(quantity, difference),
        ]
    return pd.DataFrame.from_dict(rows, orient="index", columns=["docker", "virtual", "difference"])


def text(table: pd.DataFrame) -> str:
    """Return the agreement `table` as text for a terminal."""
    return str(readable(table).to_string())


def rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the agreement `table` as JSON types, with None for unknown values."""
    return [
        {str(key): None if _is_nan(value) else value for key, value in row.items()}
        for row in table.to_dict("records")
    ]


# -- the quantities of a run -----------------------------------------------------------------------


def _facts(run: Run, wanted: Sequence[float]) -> dict[str, float]:
    """Return the quantities of `run`, with the times to the `wanted` accuracies (per cent)."""
    row = compare([run]).iloc[0]
    updates, sent = held_updates(run), device_pulls(run)
    stale = updates["staleness"].to_numpy(float)
    pushed, pulled = float(pushed_by_kind(run).sum()), float(sent["bytes"].sum())
    facts = {
        "updates": float(row["updates"]),
        "duration": float(row["duration"]),
        "updates_per_second": float(row["updates_per_second"]),
        "push_bytes_per_update": _ratio(pushed, float(row["updates"])),
        "push_bytes": pushed,
        "pull_bytes_per_pull": _ratio(pulled, float(pull_counts(sent).sum())),
        "pull_bytes": pulled,
        **_crossed(run),
        "both_bytes": float(both_bytes(run)),
        "faults": float(run.faults_begun),
        "staleness_median": float(np.median(stale)) if len(stale) else math.nan,
        "staleness_p90": float(np.quantile(stale, 0.9)) if len(stale) else math.nan,
        "staleness_max": float(stale.max()) if len(stale) else math.nan,
        **{score: float(row[score]) for score in _LASTS if score in row},
    }
    times = [f"{_TIME}{target_name(target)}" for target in wanted]
    return facts | {time: float(row.get(time, math.nan)) for time in times}


def _crossed(run: Run) -> dict[str, float]:
    """Return the bytes at the cut of the model of `run`; {} without a cut."""
    total, count = cut_bytes(run).total, len(run.records("activations"))
    if not total:
        return {}
    return {
        "activation_bytes_per_update": _ratio(total, count),
        "activation_bytes": float(total),
    }


def _common_scores(docker: Run, virtual: Run) -> Iterator[dict[str, float]]:
    """Yield the accuracies, or errors, of both runs after the same few numbers of updates."""
    score = "error" if is_regression(docker) else "accuracy"
    curves = [_curve(docker, score), _curve(virtual, score)]
    # a run in virtual time without a learner has no evaluations
    reached = min(0 if curve.empty else curve["updates"].max() for curve in curves)
    # after 0 updates both runs have the same model, so the comparison begins at 1
    known = curves[0].loc[curves[0]["updates"].between(1, reached), "updates"].to_list()
    chosen = sorted({known[place] for place in _spread(len(known) - 1)}) if known else []
    for curve in curves:
        scores = np.interp(chosen, curve["updates"], curve[score]) if chosen else []
        pairs = zip(chosen, scores, strict=True)
        yield {f"{score}_at_{int(updates)}": float(value) for updates, value in pairs}


def _curve(run: Run, score: str) -> pd.DataFrame:
    evaluations = held_evaluations(run).dropna(subset=score)
    return evaluations[["updates", score]].drop_duplicates("updates").astype(float)


def _spread(count: int) -> Sequence[int]:
    """Return up to POINTS of `count` places, evenly spread."""
    return [int(place) for place in np.unique(np.linspace(0, max(0, count - 1), POINTS).round())]


# -- rows ------------------------------------------------------------------------------------------


def _row(quantity: str, docker: float, virtual: float) -> tuple[Any, ...]:
    relative = _quantity(quantity).relative
    difference = virtual - docker
    if relative and difference:  # two zeros differ by 0, not by 0 / 0
        difference = _ratio(difference, docker)
    return quantity, docker, virtual, difference, "relative" if relative else "absolute"


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


_ACCURACY, _ERROR, _TIME = "accuracy_at_", "error_at_", "time_to_"
_LASTS = ("final_accuracy", "best_accuracy", "final_error", "best_error")
_QUANTITIES = {
    "updates_per_second": _Quantity("updates / s", figures),
    "updates": _Quantity("updates", figures),
    "duration": _Quantity("duration", seconds),
    "push_bytes_per_update": _Quantity("bytes per push", figures),
    "push_bytes": _Quantity("pushed", size),
    "pull_bytes_per_pull": _Quantity("bytes per pull", figures),
    "pull_bytes": _Quantity("pulled", size),
    "activation_bytes_per_update": _Quantity("activation bytes per update", figures),
    "activation_bytes": _Quantity("activations", size),
    "both_bytes": _Quantity("both directions", size),
    "faults": _Quantity("faults", figures, relative=False),
    "staleness_median": _Quantity("staleness, median", figures, relative=False),
    "staleness_p90": _Quantity("staleness, 90th percentile", figures, relative=False),
    "staleness_max": _Quantity("staleness, highest", figures, relative=False),
    _ACCURACY: _Quantity("", lambda share: percent(share, 2), relative=False),
    "final_accuracy": _Quantity("final accuracy", lambda share: percent(share, 2), relative=False),
    "best_accuracy": _Quantity("best accuracy", lambda share: percent(share, 2), relative=False),
    _ERROR: _Quantity("", figures),
    "final_error": _Quantity("final error", figures),
    "best_error": _Quantity("best error", figures),
    _TIME: _Quantity("", seconds),
}
"""The quantities, in the order of the table."""


def _quantity(name: str) -> _Quantity:
    for score in (_ACCURACY, _ERROR):
        if name.startswith(score):
            words = f"{score.partition('_')[0]} after {int(name.removeprefix(score)):,} updates"
            return _QUANTITIES[score]._replace(words=words)
    if name.startswith(_TIME):
        return _QUANTITIES[_TIME]._replace(words=f"time to {name.removeprefix(_TIME)} %")
    return _QUANTITIES[name]


def _place(name: str) -> tuple[int, float]:
    for prefix in (_ACCURACY, _ERROR, _TIME):
        if name.startswith(prefix):
            return list(_QUANTITIES).index(prefix), float(name.removeprefix(prefix))
    return list(_QUANTITIES).index(name), 0.0


def _shown(quantity: _Quantity, value: float) -> str:
    return "–" if math.isnan(value) else quantity.shown(value)


def _difference(quantity: _Quantity, difference: float) -> str:
    if math.isnan(difference):
        return "–"
    if difference == 0:
        return "none"
    if quantity.relative:
        return f"{difference * 100:+.3g} %"
    if "accuracy" in quantity.words:
        return f"{difference * 100:+.2f} points"
    return f"{difference:+.3g}"


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
