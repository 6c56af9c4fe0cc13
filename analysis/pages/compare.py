"""The comparison of runs: results, and the updates, time and bytes to each target accuracy."""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ..facts.held_model import count_updates
from ..facts.message_bytes import (
    both_bytes,
    cut_bytes,
    held_evaluations_with_bytes,
    pulled_bytes,
    push_ratio,
    pushed_by_kind,
    traffic_ratio,
)
from ..facts.momentum import momentum_sentence, siblings
from ..pictures.drawing import SCREEN
from ..pictures.picture_file import Print
from ..quantities import figures as number
from ..quantities import percent, seconds, size
from ..reading.labels import labels
from ..reading.protocol import algorithm, is_regression, sentence
from ..reading.runs import Run, read
from .page import figures, write
from .run_warnings import warnings

__all__ = ["compare", "compare_html", "read", "readable", "rows", "text"]

_VERBATIM = ("scenario", "algorithm", "seed", "outcome")
_CROSSED = "activation_bytes"
"""Column of the bytes at the cut of a model; only if a run has such a cut."""
_WORDED: dict[str, tuple[str, Callable[[float], str]]] = {
    "updates": ("updates", number),
    "duration": ("duration", seconds),
    "updates / s": ("updates_per_second", number),
    "final accuracy": ("final_accuracy", lambda share: percent(share, 2)),
    "best accuracy": ("best_accuracy", lambda share: percent(share, 2)),
    "final error": ("final_error", number),
    "best error": ("best_error", number),
    "pushed": ("push_bytes", size),
    "pulled": ("pull_bytes", size),
    "activations": (_CROSSED, size),
    "both directions": ("both_bytes", size),
    "ratio of pushes": ("push_ratio", number),
    "ratio of both directions": ("traffic_ratio", number),
}
_SCORES = {
    False: ("final_accuracy", "best_accuracy"),
    True: ("final_error", "best_error"),
}
"""Columns of a classification and of a regression; those that no run has are left out."""
_TARGETS = (90.0, 95.0, 97.0)
"""Targets in per cent of a run without targets in its scenario."""
_MOMENTUM = "implicit momentum"
_COSTS: dict[str, tuple[str, str, Callable[[float], str]]] = {
    "updates": ("updates", "updates", number),
    "time": ("time", "at", seconds),
    "bytes": ("pushed", "push_bytes", size),
    "pulled": ("pulled", "pull_bytes", size),
    "both": ("both directions", "both_bytes", size),
}
"""By the begin of a column's name: the cost in words, the evaluation's column, and its format."""


def compare(runs: Sequence[Run]) -> pd.DataFrame:
    """Return a table with a row for every run of `runs`, in base units, NaN for unknown values.

    Columns: `run` (its label), `scenario`, `algorithm`, `seed`, `outcome`, `updates`, `duration`
    (s), `final_accuracy`, `best_accuracy` (fractions), of regressions `final_error`, `best_error`
    (mean absolute errors), `push_bytes`, `pull_bytes`, `both_bytes`, `push_ratio` (dense pushes
    over pushes, at equal updates), `traffic_ratio` (the same of both directions),
    `updates_per_second`, with a cut model `activation_bytes`, and for each
    target of any run the cost of its first measurement: `updates_to_90`, `time_to_90` (s),
    `bytes_to_90` (pushed), `pulled_to_90`, `both_to_90`, and so on. If a run kept its trajectory,
    `implicit momentum` is a sentence, fitted to all runs that differ in the seed only.
    """
    wanted = together(runs)
    pairs = zip(runs, labels(runs), strict=True)
    table = pd.DataFrame([_row(run, label, wanted) for run, label in pairs])
    momenta = [momentum_sentence(siblings(run, runs)) for run in runs]
    if any(momenta):
        table[_MOMENTUM] = momenta
    needless = [] if table[_CROSSED].any() else [_CROSSED]
    kinds = {is_regression(run) for run in runs}
    for regression, columns in _SCORES.items():
        if kinds == {not regression}:
            needless += columns
    return table.drop(columns=needless)


def rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the comparison `table` as JSON types, with None for unknown values."""
    return [
        {str(key): _plain(str(key), value) for key, value in row.items()}
        for row in table.to_dict("records")
    ]


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """Return the comparison `table` as text with units, with a column for every run.

    Runs are columns so that the text fits a terminal or a phone.
    """
    verbatim = (name for name in (*_VERBATIM, _MOMENTUM) if name in table)
    shown = {name: [str(value) for value in table[name]] for name in verbatim}
    for name, (column, words) in _WORDED.items():
        if column not in table:
            continue
        shown[name] = [words(value) for value in table[column]]
    for column in map(str, table):
        cost, _, target = column.partition("_to_")
        if target:
            name, _, words = _COSTS[cost]
            cells = ["–" if math.isnan(value) else words(value) for value in table[column]]
            shown[f"{name} to {target} %"] = cells
    return pd.DataFrame.from_dict(shown, orient="index", columns=list(table["run"]))


def text(table: pd.DataFrame) -> str:
    """Return the comparison `table` as text for a terminal."""
    return str(readable(table).to_string())


def compare_html(
    runs: Sequence[Run], out: Path, agreed: pd.DataFrame | None = None, prints: Print = SCREEN
) -> Path:
    """Write the page `compare.html` and the files of its figures into the folder `out`.

    `agreed` is the readable table of an agreement, if the runs are of both runtimes; `prints` is
    for the files alone. Returns the path of the page, which is self-contained.
    """
    table = compare(runs)
    names = list(table["run"])
    with_warnings = [
        (name, warning) for name, run in zip(names, runs, strict=True) for warning in warnings(run)
    ]
    return write(
        "compare.html",
        out / "compare.html",
        title=" against ".join(names) if len(runs) < 4 else f"{len(runs)} runs compared",
        runs=names,
        facts=[(name, list(values)) for name, values in readable(table).iterrows()],
        agreed=[] if agreed is None else list(agreed.itertuples(name=None)),
        warnings=with_warnings,
        protocols=list(zip(names, map(sentence, runs), strict=True)),
        folders=[(name, str(run.folder)) for name, run in zip(names, runs, strict=True)],
        figures=figures(runs, out, prints),
    )


def _row(run: Run, label: str, wanted: Sequence[float]) -> dict[str, Any]:
    held = held_evaluations_with_bytes(run)
    evaluations = held.dropna(subset="accuracy")
    updates = count_updates(run)
    duration = run.end
    accuracy = evaluations["accuracy"]
    errors = held["error"].dropna().astype(float)
    row = {
        "run": label,
        "scenario": run.name,
        "algorithm": algorithm(run),
        "seed": run.summary.get("seed", run.scenario.get("seed")),
        "outcome": run.outcome,
        "updates": updates,
        "duration": duration,
        "final_accuracy": float("nan") if accuracy.empty else float(accuracy.iloc[-1]),
        "best_accuracy": float("nan") if accuracy.empty else float(accuracy.max()),
        "final_error": float("nan") if errors.empty else float(errors.iloc[-1]),
        "best_error": float(errors.min()),
        "push_bytes": int(pushed_by_kind(run).sum()),
        "pull_bytes": pulled_bytes(run),
        _CROSSED: cut_bytes(run).total,
        "both_bytes": both_bytes(run),
        "push_ratio": push_ratio(run) or float("nan"),
        "traffic_ratio": traffic_ratio(run) or float("nan"),
        "updates_per_second": updates / duration if duration > 0 else float("nan"),
    }
    if run.workload:  # whatever its programs sent, as the server's interface counted it
        up, down = (int(run.summary.get(f"server_{way}_bytes") or 0) for way in ("rx", "tx"))
        row |= {"push_bytes": up, "pull_bytes": down, "both_bytes": up + down}
    for target in wanted:
        # in binary 0.95 * 100 is below 95
        reached = evaluations[accuracy * 100 >= target - 1e-7]
        for cost, (_, key, _) in _COSTS.items():
            row[f"{cost}_to_{target_name(target)}"] = (
                float("nan") if reached.empty else float(reached[key].iloc[0])
            )
    return row


def _plain(key: str, value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return None
    # a NaN in another run makes the whole column float
    if key.startswith(("updates_to", "bytes_to", "pulled_to", "both_to")):
        return int(value)
    return value.item() if hasattr(value, "item") else value


# -- targets ---------------------------------------------------------------------------------------


def _targets(run: Run) -> tuple[float, ...]:
    """Return the run's targets in per cent, ascending."""
    texts = run.scenario.get("targets")
    numbers = {_percent(text) for text in texts} if isinstance(texts, list) else set()
    return tuple(sorted(number for number in numbers if number is not None)) or _TARGETS


def together(runs: Iterable[Run]) -> tuple[float, ...]:
    """Return the union of the targets of `runs` in per cent, ascending."""
    return tuple(sorted({target for run in runs for target in _targets(run)}))


def target_name(target: float) -> str:
    """Return `target` as the names of columns have it: `90`, `98.5`."""
    return f"{target:.9g}"


def _percent(text: object) -> float | None:
    match = re.fullmatch(r"([\d.]+)\s*%", str(text).strip())
    return float(match[1]) if match else None
