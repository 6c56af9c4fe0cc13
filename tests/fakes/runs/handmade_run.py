"""Runs of a few records, for tests with results known by hand."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from emulator.world.verbs import begins, row_of_record

if TYPE_CHECKING:
    from analysis import Run


def written(
    folder: Path,
    records: list[dict],
    timeline: list[dict] | None = None,
    scenario: dict | None = None,
    summary: dict | None = None,
    manifest: dict | None = None,
) -> "Run":
    """A run of these records and nothing else."""
    from analysis import read  # half a second, which processes that only write runs do not spend

    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in (("run.jsonl", records), ("timeline.jsonl", timeline or [])):
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "manifest.json").write_text(json.dumps(manifest or {}))
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
    """A fault's beginning or end, as the record's kind says it."""
    verb = row_of_record(what)
    assert verb
    facts = {"node": node, "fault": fault, "begins": what == verb.record, "planned": planned}
    return {"at": at, "what": what, **facts}


def due(at: float, verb: str, node: str, fault: str) -> dict:
    """A line of the timeline."""
    return {"at": at, "verb": verb, "node": node, "fault": fault, "begins": begins(verb)}


VIRTUAL = {
    "runtime": "virtual",
    "host": {"name": "bench", "cores": 2, "memory": 1 << 34},
    "shaping": dict.fromkeys(("rate", "delay", "loss", "cut"), "virtual"),
    "tcp": "modelled",
    "encrypted": False,
}
"""What virtual time says of itself in its manifest: no image, no engine, no kernel."""


def virtual(folder: Path, *, tcp: str = "modelled", devices: int = 2, **assumed: object) -> "Run":
    """A run in virtual time: each device pulls and pushes once, and all frames are counted.

    A pull is of 144,800 bytes, so 100 full frames; a push of 14,480, so 10. `assumed` is what the
    scenario has under `virtual`.
    """
    names = [f"home-{number}" for number in range(devices)]
    replies = 33 if tcp == "modelled" else 0  # for each frame, by one acknowledgement for two
    records: list[dict] = [{"at": 0, "what": "start", "devices": devices}]
    weight = {"values": 10_000, "indices": 4_000, "headers": 400, "framing": 80}
    for number, name in enumerate(names, start=1):
        records += [
            {"at": 0.0, "what": "pull", "node": name, "version": 0, "bytes": 144_800},
            update(1.0, name, updates=number, loss=None, divisor=None, **weight),
        ]
    for name in names:
        rx, tx = 100 * 1514 + 10 * replies, 10 * 1514 + 100 * replies
        records.append(traffic_record(2.0, name, rx, tx))
    records.append(traffic_record(2.0, "server", tx * devices, rx * devices))
    records.append({"at": 2.0, "what": "stop", "reason": "updates"})
    fidelity = {"kept_up": True, "reasons": [], "latest_fault_s": 0.0, "host_busy_mean": None}
    side = {"rate": "8mbit"}
    scenario = {
        "name": "made-up",
        "seed": 7,
        "training": {"dataset": "mnist", "model": "mnist-cnn", "algorithm": "adacomp"},
        "virtual": {"learner": "none", "tcp": tcp == "modelled", **assumed},
        "devices": [{"name": "home", "count": devices, "link": {"up": side, "down": side}}],
    }
    summary = {
        "runtime": "virtual",
        "outcome": "success",
        "server_rx_bytes": tx * devices,
        "server_tx_bytes": rx * devices,
        "fidelity": fidelity,
    }
    manifest = {**VIRTUAL, "tcp": tcp}
    return written(folder, records, scenario=scenario, summary=summary, manifest=manifest)
