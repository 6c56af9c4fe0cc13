"""Runs of a few records each, for tests that know what these must come to."""

import json
from pathlib import Path

import yaml

from analysis import Run, read


def written(
    folder: Path,
    records: list[dict],
    timeline: list[dict] | None = None,
    scenario: dict | None = None,
    summary: dict | None = None,
) -> Run:
    """A run of these records and nothing else."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in (("run.jsonl", records), ("timeline.jsonl", timeline or [])):
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "manifest.json").write_text("{}")
    (folder / "summary.json").write_text(json.dumps(summary or {"outcome": "success"}))
    (folder / "scenario.yaml").write_text(yaml.safe_dump(scenario or {"name": "made-up"}))
    return read(folder)


def update(at: float, node: str = "a", **facts: object) -> dict:
    return {
        "at": at,
        "what": "update",
        "node": node,
        "version": 1,
        "updates": 1,
        "staleness": 0,
        "divisor": 1.0,
        "loss": 1.0,
        "compute": 0.1,
        "entries": 10,
        "values": 40,
        "indices": 10,
        "headers": 5,
        "framing": 5,
        **facts,
    }


def traffic_record(at: float, node: str, rx: int, tx: int) -> dict:
    return {"at": at, "what": "traffic", "node": node, "rx": rx, "tx": tx}


def act(at: float, what: str, node: str, fault: str, planned: float) -> dict:
    return {"at": at, "what": what, "node": node, "fault": fault, "planned": planned}
