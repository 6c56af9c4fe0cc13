"""What came of each point as one table: a row a point, and medians over seeds."""

import csv
import io
import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..runlog import Record, read
from .point import Finished

TARGETS = (90, 95, 97)
"""Test accuracies, in per cent, for which the cost of getting there is told."""

_COSTS = {"updates": "updates", "time": "at", "bytes": "push_bytes"}
"""What getting there costs: time in emulated seconds, bytes pushed; and its key in the log."""

_SPREAD = ("final_accuracy", "updates_to_97", "bytes_to_97")
"""What is told of all seeds together."""


def facts(folder: Path) -> dict[str, Any]:
    """What came of a run, in base units; None where it did not come so far."""
    summary = json.loads((folder / "summary.json").read_bytes())
    names = ("outcome", "stop", "updates", "duration_s", "final_accuracy", "best_accuracy")
    evaluations = [one for one in read(folder / "run.jsonl") if one["what"] == "evaluation"]
    return {
        **{name: summary[name] for name in names},
        "push_bytes": summary["push_bytes"]["total"],
        "pull_bytes": summary["pull_bytes"],
        "compression_ratio": summary["compression_ratio"],
        **_costs(evaluations),
    }


def _costs(evaluations: Sequence[Record]) -> dict[str, Any]:
    """As `emulate compare` tells them: at the first evaluation that reached the target."""
    costs: dict[str, Any] = {}
    for target in TARGETS:
        enough = (one for one in evaluations if _percent(one) >= target - 1e-9)
        reached: Record = next(enough, {})
        costs |= {f"{cost}_to_{target}": reached.get(key) for cost, key in _COSTS.items()}
    return costs


def _percent(evaluation: Record) -> float:
    accuracy = evaluation["accuracy"]  # null where it was not finite
    return -math.inf if accuracy is None else accuracy * 100


def write(path: Path, finished: Iterable[Finished]) -> None:
    """The rows as CSV, replacing the file in one step; an empty cell where a run does not say."""
    rows = [one.row for one in finished]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    beside = path.with_name(f".{path.name}.part")
    beside.write_text(text.getvalue())
    beside.replace(path)


def medians(
    rows: Iterable[Mapping[str, Any]], values: Sequence[str]
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Rows that differ in nothing but the seed as one: their `values`, and what came of them.

    That is `outcomes` (outcome: number of seeds), and (median, least, most) of `final_accuracy`,
    `updates_to_97` and `bytes_to_97`, None if no seed was ever measured. What a seed never
    reached counts as infinite, so a median is finite only if most seeds got there.
    """
    alike: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        alike.setdefault(tuple(row[name] for name in values), []).append(row)
    return [(dict(zip(values, key, strict=True)), _together(seeds)) for key, seeds in alike.items()]


def _together(seeds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    outcomes: dict[str, int] = {}
    for row in seeds:
        outcomes[row["outcome"]] = outcomes.get(row["outcome"], 0) + 1
    told: dict[str, Any] = {"outcomes": outcomes}
    for name in _SPREAD:
        measured = (row for row in seeds if row["final_accuracy"] is not None)
        found = [math.inf if row[name] is None else row[name] for row in measured]
        told[name] = (statistics.median(found), min(found), max(found)) if found else None
    return told
