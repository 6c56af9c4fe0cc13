"""Table of a sweep's results: a row for each point, and medians over seeds."""

import csv
import io
import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..log.targets import COSTS, costs, percent
from .point import Finished

_SCORES = ("final_accuracy", "final_error")
"""Columns of the last score on the test set, of a classification and of a regression."""


def facts(folder: Path) -> dict[str, Any]:
    """Return the results of the run in `folder`, in base units; None for values never reached."""
    summary = json.loads((folder / "summary.json").read_bytes())
    crossed = _activations(summary)
    ways = summary["push_bytes"]["total"], summary["pull_bytes"], *crossed.values()
    names = ("outcome", "stop", "updates", "duration_s", "final_accuracy", "best_accuracy")
    return {
        **{name: summary[name] for name in names},
        **{name: summary[name] for name in ("final_error", "best_error") if name in summary},
        "push_bytes": summary["push_bytes"]["total"],
        "pull_bytes": summary["pull_bytes"],
        **crossed,
        "both_bytes": sum(ways),
        **{name: summary[name] for name in ("compression_ratio", "traffic_ratio")},
        **{
            f"{cost}_to_{percent(target['accuracy'])}": spent
            for target in summary["targets"]
            for cost, spent in costs(target).items()
        },
        **_host(summary),
    }


def _host(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return whether the host kept up with the containers, and why not; {} in virtual time."""
    if summary.get("runtime") != "docker":
        return {}
    fidelity = summary["fidelity"]
    return {"kept_up": fidelity["kept_up"], "host": "; ".join(fidelity["reasons"])}


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


def targets(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the accuracy targets that any of `rows` has, ascending, as `97`."""
    begin = "updates_to_"
    found = {name.removeprefix(begin) for row in rows for name in row if name.startswith(begin)}
    return sorted(found, key=float)


def medians(
    rows: Sequence[Mapping[str, Any]], values: Sequence[str]
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Merge rows that differ in the seed alone; return pairs of their `values` and their results.

    Results are `outcomes` (number of seeds by outcome), (median, least, most) of `final_accuracy`,
    or of `final_error` for a regression, and in `targets` for each target of the rows those of the
    `COSTS`; None if no seed was ever evaluated. A seed that missed the target counts as infinite,
    so a median is finite only if most seeds reached it.
    """
    score = _SCORES[any("final_error" in row for row in rows)]
    alike: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        alike.setdefault(tuple(row[name] for name in values), []).append(row)
    return [
        (dict(zip(values, key, strict=True)), _together(seeds, score))
        for key, seeds in alike.items()
    ]


def _together(seeds: Sequence[Mapping[str, Any]], score: str) -> dict[str, Any]:
    """Return the merged results of rows with different seeds; `score` is the column of scores."""
    outcomes: dict[str, int] = {}
    for row in seeds:
        outcomes[row["outcome"]] = outcomes.get(row["outcome"], 0) + 1
    measured = [row for row in seeds if any(row.get(name) is not None for name in _SCORES)]
    return {
        "outcomes": outcomes,
        score: _spread(measured, score),
        "targets": {
            target: {cost: _spread(measured, f"{cost}_to_{target}") for cost in COSTS}
            for target in targets(seeds)
        },
    }


def _spread(rows: Iterable[Mapping[str, Any]], column: str) -> tuple[float, float, float] | None:
    """Return median, least and most of `column`, or None if no row has the column."""
    cells = [row[column] for row in rows if column in row]
    numbers = [math.inf if cell is None else cell for cell in cells]
    return (statistics.median(numbers), min(numbers), max(numbers)) if numbers else None
