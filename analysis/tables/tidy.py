"""Tidy tables of one run: a row for each record of a kind, and named columns of fixed types.

docs/from-python.md documents every column of `TABLES`.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from ..facts.devices import devices as listed_devices
from ..facts.faults import downtime
from ..facts.message_bytes import (
    KINDS,
    cut_bytes,
    cut_bytes_by_node,
    evaluations_with_bytes,
    pull_counts,
)
from ..reading.protocol import algorithm
from ..reading.runs import Run

_WHOLE, _REAL, _TEXT, _FLAG = "Int64", "float64", "string", "boolean"
"""Types of columns. All but `_REAL` have a missing value of their own; for `_REAL` it is NaN."""

_PLACE = {"run": _TEXT, "at": _REAL, "node": _TEXT}

TABLES: Mapping[str, Mapping[str, str]] = {
    "updates": {
        **_PLACE,
        **dict.fromkeys(("version", "updates", "staleness"), _WHOLE),
        **dict.fromkeys(("divisor", "loss", "compute"), _REAL),
        **dict.fromkeys(("entries", *KINDS, "bytes", "segments", "group"), _WHOLE),
    },
    "pulls": {**_PLACE, **dict.fromkeys(("version", "bytes", "segments", "count"), _WHOLE)},
    "evaluations": {
        "run": _TEXT,
        "at": _REAL,
        "version": _WHOLE,
        "updates": _WHOLE,
        "accuracy": _REAL,
        "loss": _REAL,
        "error": _REAL,
        **dict.fromkeys(("push_bytes", "pull_bytes", "both_bytes"), _WHOLE),
        "scored": _REAL,
    },
    "traffic": {**_PLACE, "rx": _WHOLE, "tx": _WHOLE},
    "faults": {**_PLACE, "what": _TEXT, "fault": _TEXT, "begins": _FLAG, "planned": _REAL},
    "devices": {
        **dict.fromkeys(("run", "node", "group", "profile", "link"), _TEXT),
        **dict.fromkeys(("updates", "push_bytes", "pull_bytes", "both_bytes"), _WHOLE),
        "gone": _REAL,
    },
    "runs": {
        **dict.fromkeys(("run", "folder", "scenario", "algorithm", "runtime"), _TEXT),
        "seed": _WHOLE,
        "outcome": _TEXT,
        "duration_s": _REAL,
        "updates": _WHOLE,
        "final_accuracy": _REAL,
        "best_accuracy": _REAL,
        "final_error": _REAL,
        "best_error": _REAL,
        **dict.fromkeys(("push_bytes", "pull_bytes", "both_bytes"), _WHOLE),
        **dict.fromkeys(("compression_ratio", "traffic_ratio"), _REAL),
    },
}
"""The columns of each table, with their pandas types."""


def table(name: str, run: Run, label: str) -> pd.DataFrame:
    """Return the table `name` of `TABLES` for `run`, whose rows have `label` in the column `run`.

    Raises KeyError for another name. A value that the run lacks is missing.
    """
    columns = TABLES[name]
    made: pd.DataFrame = _MADE[name](run).assign(run=label).reindex(columns=list(columns))
    return made.astype(dict(columns)).reset_index(drop=True)


def _updates(run: Run) -> pd.DataFrame:
    records = run.records("update")
    return _segmented(records.assign(bytes=records[list(KINDS)].sum(axis=1)))


def _segmented(records: pd.DataFrame) -> pd.DataFrame:
    """Return `records` with the `segments` of each message; the log leaves 1 out."""
    if "segments" not in records:
        return records.assign(segments=1)
    return records.assign(segments=records["segments"].fillna(1))


def _pulls(run: Run) -> pd.DataFrame:
    records = _segmented(run.records("pull"))
    return records.assign(count=pull_counts(records))


def _faults(run: Run) -> pd.DataFrame:
    return run.faults.sort_values("at", kind="stable")


def _devices(run: Run) -> pd.DataFrame:
    updates, models = _updates(run), run.records("pull")
    count = updates.groupby("node").size()
    pushed = updates.groupby("node")["bytes"].sum()
    pulled = models.groupby("node")["bytes"].sum()
    crossed = cut_bytes_by_node(run)
    gone = downtime(run)
    rows = [
        {
            "node": device.name,
            "group": device.group,
            "profile": device.profile,
            "link": device.link,
            "updates": count.get(device.name, 0),
            "push_bytes": pushed.get(device.name, 0),
            "pull_bytes": pulled.get(device.name, 0),
            "both_bytes": sum(sums.get(device.name, 0) for sums in (pushed, pulled, crossed)),
            "gone": gone.get(device.name, 0.0),
        }
        for device in listed_devices(run)
    ]
    return pd.DataFrame(rows, columns=list(TABLES["devices"]))


def _runs(run: Run) -> pd.DataFrame:
    summary = run.summary
    facts = {name: summary.get(name) for name in TABLES["runs"]}
    push = (summary.get("push_bytes") or {}).get("total")
    pull, crossed = summary.get("pull_bytes"), cut_bytes(run).total
    seed = run.scenario.get("seed") if facts["seed"] is None else facts["seed"]
    return pd.DataFrame(
        [
            {
                **facts,
                "folder": str(run.folder),
                "scenario": run.name,
                "algorithm": algorithm(run),
                "runtime": run.runtime or None,
                "seed": seed,
                "outcome": run.outcome,
                "push_bytes": push,
                "both_bytes": None if push is None or pull is None else push + pull + crossed,
            }
        ]
    )


_MADE: dict[str, Callable[[Run], Any]] = {
    "updates": _updates,
    "pulls": _pulls,
    "evaluations": evaluations_with_bytes,
    "traffic": lambda run: run.records("traffic"),
    "faults": _faults,
    "devices": _devices,
    "runs": _runs,
}
