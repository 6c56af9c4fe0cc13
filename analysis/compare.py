"""Runs side by side: what each needed to come as far as it did."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from . import pushes
from .doubts import doubts
from .labels import labels
from .page import figures, write
from .protocol import algorithm, sentence
from .quantities import figures as number
from .quantities import percent, seconds, size
from .runs import Run

TARGETS = (90, 95, 97)
"""Test accuracies, in per cent, for which the cost of getting there is told."""

_COSTS = {"updates": number, "time": seconds, "bytes": size}
_KEYS = {"updates": "updates", "time": "at", "bytes": "push_bytes"}


def compare(runs: Sequence[Run]) -> pd.DataFrame:
    """A row a run, in the order given, in base units; NaN where a run does not say.

    Columns: `run` (what sets it apart), `scenario`, `algorithm`, `seed`, `outcome`, `updates`,
    `duration` (s), `final_accuracy`, `best_accuracy` (fractions), `push_bytes`, `ratio` (dense
    over sent at equal updates), `updates_per_second`, and for each of TARGETS what it took to
    reach it first: `updates_to_90`, `time_to_90` (s), `bytes_to_90` (pushed), and so on.
    """
    return pd.DataFrame([_row(run, name) for run, name in zip(runs, labels(runs), strict=True)])


def rows(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """The same as plain data for JSON: None where a run does not say."""
    told = compare(runs).to_dict("records")
    return [{str(key): _plain(str(key), value) for key, value in row.items()} for row in told]


def readable(runs: Sequence[Run]) -> pd.DataFrame:
    """The same as text with units, a run a column: narrow enough for a terminal or a phone."""
    table = compare(runs)
    shown = {"algorithm": table["algorithm"], "seed": table["seed"], "outcome": table["outcome"]}
    shown["updates"] = table["updates"].map(number)
    shown["duration"] = table["duration"].map(seconds)
    shown["updates / s"] = table["updates_per_second"].map(number)
    for key in ("final_accuracy", "best_accuracy"):
        shown[key.replace("_", " ")] = table[key].map(lambda value: percent(value, 2))
    shown["pushed"] = table["push_bytes"].map(size)
    shown["compression ratio"] = table["ratio"].map(number)
    for target in TARGETS:
        for cost, text in _COSTS.items():
            values = table[f"{cost}_to_{target}"].astype(float)
            shown[f"{cost} to {target} %"] = [
                "–" if math.isnan(value) else text(value) for value in values
            ]
    frame = pd.DataFrame(
        {
            key: values.astype(object) if isinstance(values, pd.Series) else values
            for key, values in shown.items()
        }
    )
    frame.index = pd.Index(table["run"])
    return frame.T


def compare_html(runs: Sequence[Run], out: Path) -> Path:
    """Write the comparison as one self-contained page with all figures overlaid."""
    facts = readable(runs)
    return write(
        "compare.html",
        out,
        title=" against ".join(facts.columns) if len(runs) < 4 else f"{len(runs)} runs compared",
        runs=list(facts.columns),
        facts=[(name, list(values)) for name, values in facts.iterrows()],
        protocols=list(zip(facts.columns, map(sentence, runs), strict=True)),
        folders=[(name, run.folder.name) for name, run in zip(facts.columns, runs, strict=True)],
        doubts=[
            (name, doubt)
            for name, run in zip(facts.columns, runs, strict=True)
            for doubt in doubts(run)
        ],
        figures=figures(runs),
    )


def _row(run: Run, name: str) -> dict[str, Any]:
    evaluations = run.records("evaluation").dropna(subset="accuracy")
    updates = len(run.records("update")) or int(run.summary.get("updates") or 0)
    duration = run.end
    accuracy = evaluations["accuracy"]
    row = {
        "run": name,
        "scenario": run.name,
        "algorithm": algorithm(run),
        "seed": run.summary.get("seed", run.scenario.get("seed")),
        "outcome": run.outcome,
        "updates": updates,
        "duration": duration,
        "final_accuracy": float("nan") if accuracy.empty else float(accuracy.iloc[-1]),
        "best_accuracy": float("nan") if accuracy.empty else float(accuracy.max()),
        "push_bytes": int(pushes.by_kind(run).sum()),
        "ratio": pushes.ratio(run) or float("nan"),
        "updates_per_second": updates / duration if duration > 0 else float("nan"),
    }
    for target in TARGETS:
        reached = evaluations[accuracy * 100 >= target - 1e-9]  # 0.95 * 100 is below 95
        for cost, key in _KEYS.items():
            row[f"{cost}_to_{target}"] = (
                float("nan") if reached.empty else float(reached[key].iloc[0])
            )
    return row


def _plain(key: str, value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return None
    if key.startswith(("updates_to", "bytes_to")):  # a NaN in another run made floats of them
        return int(value)
    return value.item() if hasattr(value, "item") else value
