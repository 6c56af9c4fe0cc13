"""Folders of played studies with runs of a few records, for results known by hand."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.fakes.runs.handmade_run import update, written

GOOD, BETTER = (0.1, 0.9, 0.972, 0.98, 0.981), (0.1, 0.96, 0.98, 0.985, 0.986)
"""Accuracies of the evaluations of a run."""

IN_CONTAINERS = ", in containers"
FIDELITY = {
    "kept_up": False,
    "reasons": ["devices and server were short of processor time for 20% of the time"],
    "host_busy_mean": 0.9,
    "shaping": {"backend": "packets", "p50": 0.001, "p99": 0.0123},
}
"""Fidelity of a run in containers."""

Key = tuple[str, str, str]
"""World, entry and learning rate of a row."""


def training(accuracies: Sequence[float], entries: int, indices: int) -> list[dict[str, Any]]:
    """An evaluation before each ten updates, all of 100 parameters, each behind its pull."""
    records: list[dict[str, Any]] = []
    for number, accuracy in enumerate(accuracies):
        at, updates = float(number * 10), number * 10
        scored = {"version": updates, "updates": updates, "accuracy": accuracy}
        records.append({"at": at, "what": "evaluation", "loss": 1 - accuracy, **scored})
        for item in range(10):
            records.append(pull(at + item))
            records.append(update(at + item, entries=entries, values=4 * entries, indices=indices))
    return records


def pull(at: float) -> dict[str, Any]:
    return {"at": at, "what": "pull", "node": "a", "version": int(at), "bytes": 700}


def played(
    out: Path,
    name: str,
    rows: Mapping[Key, Sequence[list[dict[str, Any]]]],
    **note: Any,
) -> Path:
    """Write the study `name` with these rows, each with the records of its seeds' runs.

    A row whose entry ends in `, c = 1%` is a point of the grid `c`, and one that ends in
    `, in containers` was played there; `note` has further keys.
    """
    content: dict[str, Any] = {"study": name, "rows": [], "tried": [], **note}
    for (world, title, rate), seeds in rows.items():
        entry = title.removesuffix(IN_CONTAINERS)
        docker, runs = entry != title, []
        for seed, records in enumerate(seeds):
            place = f"points/{len(content['rows'])}-{seed}"
            count = sum(item["what"] == "update" for item in records)
            summary = {
                "dense_push_bytes": 400 * count,
                "paper_push_bytes": {"conv": {"bytes": 2.0 * count, "ratio": 50.0}},
            }
            if docker:
                summary |= {"runtime": "docker", "fidelity": FIDELITY}
            written(out / place, records, scenario=_scenario(), summary=summary)
            runs.append(place)
        _, grid, value = entry.partition(", c = ")
        over: dict[str, Any] = {"over": {"c": value}} if grid else {}
        over |= {"on": "docker"} if docker else {}
        plain = {"world": world, "entry": entry, "rate": rate, "runs": runs, **over}
        content["rows"].append({"how": "own", **plain})
        content["tried"].append({**plain, "runs": runs[:1]})
    (out / "study.json").write_text(json.dumps(content))
    return out


def _scenario() -> dict[str, Any]:
    return {
        "name": "made-up",
        "training": {"dataset": "digits", "batch_size": 10},
        "virtual": {"step": {"exponential": "1s"}},
    }
