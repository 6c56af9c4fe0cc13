"""Table of a sweep's results: a row for each point, and medians over seeds."""

import csv
import io
import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..log.targets import COSTS, percent
from .point import Finished

_SCORES = ("final_accuracy", "final_error")
"""Columns of the last score on the test set, of a classification and of a regression."""


def facts(folder: Path) -> dict[str, Any]:
    """Return the results of the run in `folder`, in base units; None for values never reached."""
    summary = json.loads((folder / "summary.json").read_bytes())
    names = ("outcome", "stop", "updates", "duration_s", "final_accuracy", "best_accuracy")
    return {
        **{name: summary[name] for name in names},
        **{name: summary[name] for name in ("final_error", "best_error") if name in summary},
        "push_bytes": summary["push_bytes"]["total"],
        "pull_bytes": summary["pull_bytes"],
        **_activations(summary),
        "compression_ratio": summary["compression_ratio"],
        **{
            f"{cost}_to_{percent(target['accuracy'])}": target[cost]
            for target in summary["targets"]
            for cost in COSTS
        },
    }


def _activations(summary: Mapping[str, Any]) -> dict[str, int]:
    """Return the bytes at the cut of a model, in both directions; {} without a cut."""
    ways = summary.get("activation_bytes")
    return {"activation_bytes": ways["up"] + ways["down"]} if ways else {}


def write(path: Path, finished: Iterable[Finished]) -> None:
    """Write the rows of `finished` as CSV, replacing the file in one step.

    A cell is empty where a run has no value.
    """
    rows = [point.row for point in finished]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    unfinished = path.with_name(f".{path.name}.part")
    unfinished.write_text(text.getvalue(), encoding="utf-8")
    unfinished.replace(path)


def highest(rows: Iterable[Mapping[str, Any]]) -> str | None:
    """Return the highest accuracy target in all rows, as `97`; None without a common target."""
    shared = [
        {name.removeprefix("updates_to_") for name in row if name.startswith("updates_to_")}
        for row in rows
    ]
    return max(set.intersection(*shared), key=float, default=None) if shared else None


def medians(
    rows: Sequence[Mapping[str, Any]], values: Sequence[str]
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Merge rows that differ in the seed alone; return pairs of their `values` and their results.

    Results are `outcomes` (number of seeds by outcome), and (median, least, most) of
    `final_accuracy`, or of `final_error` for a regression, and of `updates` and `bytes` to the
    highest common target; None if no seed was ever evaluated. A seed that missed the target counts
    as infinite, so a median is finite only if most seeds reached it.
    """
    target = highest(rows)
    score = _SCORES[any("final_error" in row for row in rows)]
    columns = {score: score}
    if target is not None:
        columns |= {cost: f"{cost}_to_{target}" for cost in ("updates", "bytes")}
    alike: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        alike.setdefault(tuple(row[name] for name in values), []).append(row)
    return [
        (dict(zip(values, key, strict=True)), _together(seeds, columns))
        for key, seeds in alike.items()
    ]


def _together(seeds: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> dict[str, Any]:
    """Return the merged results of rows with different seeds; `columns` maps results to columns."""
    outcomes: dict[str, int] = {}
    for row in seeds:
        outcomes[row["outcome"]] = outcomes.get(row["outcome"], 0) + 1
    results: dict[str, Any] = {"outcomes": outcomes}
    measured = [row for row in seeds if any(row.get(score) is not None for score in _SCORES)]
    for name, column in columns.items():
        numbers = [math.inf if row.get(column) is None else row[column] for row in measured]
        results[name] = (
            (statistics.median(numbers), min(numbers), max(numbers)) if numbers else None
        )
    return results
