"""What came of each point as one table: a row a point, and medians over seeds."""

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


def facts(folder: Path) -> dict[str, Any]:
    """What came of a run, in base units; None where it did not come so far."""
    summary = json.loads((folder / "summary.json").read_bytes())
    names = ("outcome", "stop", "updates", "duration_s", "final_accuracy", "best_accuracy")
    return {
        **{name: summary[name] for name in names},
        "push_bytes": summary["push_bytes"]["total"],
        "pull_bytes": summary["pull_bytes"],
        "compression_ratio": summary["compression_ratio"],
        **{
            f"{cost}_to_{percent(target['accuracy'])}": target[cost]
            for target in summary["targets"]
            for cost in COSTS
        },
    }


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


def highest(rows: Iterable[Mapping[str, Any]]) -> str | None:
    """Return the highest target that all rows have, as `97`; None if they share none."""
    shared = [
        {name.removeprefix("updates_to_") for name in row if name.startswith("updates_to_")}
        for row in rows
    ]
    return max(set.intersection(*shared), key=float, default=None) if shared else None


def medians(
    rows: Sequence[Mapping[str, Any]], values: Sequence[str]
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Rows that differ in nothing but the seed as one: their `values`, and what came of them.

    That is `outcomes` (outcome: number of seeds), and (median, least, most) of `final_accuracy`
    and, for the highest target, of `updates` and `bytes` to it; None if no seed was ever measured.
    What a seed never reached counts as infinite, so a median is finite only if most seeds got
    there.
    """
    target = highest(rows)
    told = {"final_accuracy": "final_accuracy"}
    if target is not None:
        told |= {cost: f"{cost}_to_{target}" for cost in ("updates", "bytes")}
    alike: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        alike.setdefault(tuple(row[name] for name in values), []).append(row)
    return [
        (dict(zip(values, key, strict=True)), _together(seeds, told))
        for key, seeds in alike.items()
    ]


def _together(seeds: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> dict[str, Any]:
    outcomes: dict[str, int] = {}
    for row in seeds:
        outcomes[row["outcome"]] = outcomes.get(row["outcome"], 0) + 1
    told: dict[str, Any] = {"outcomes": outcomes}
    for name, column in columns.items():
        measured = (row for row in seeds if row["final_accuracy"] is not None)
        found = [math.inf if row[column] is None else row[column] for row in measured]
        told[name] = (statistics.median(found), min(found), max(found)) if found else None
    return told
