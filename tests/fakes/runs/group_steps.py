"""Runs of four devices, written by hand from the steps of their groups."""

from pathlib import Path
from typing import Any

from analysis.reading.runs import Run
from tests.fakes.runs.handmade_run import update, written


def log(folder: Path, synchronization: dict[str, Any], steps: list[tuple[float, str]]) -> Run:
    """Each step is its time, and its devices by letter; a group's letters are ab or cd."""
    records: list[dict[str, Any]] = []
    updates = 0
    for at, devices in steps:
        for device in devices:
            updates += 1
            grouped = {"group": "abcd".index(device) // 2} if len(devices) == 2 else {}
            records.append({**update(at, device), "updates": updates, **grouped})
        evaluation = {"at": at, "what": "evaluation", "updates": updates, "version": updates}
        records.append({**evaluation, "accuracy": min(1, updates / 10), "loss": 1.0})
    training = {"synchronization": synchronization}
    summary = {"devices": 4, "updates": updates}
    return written(folder, records, scenario={"training": training}, summary=summary)


BARRIER = [(1.5, "abcd"), (3.0, "abcd"), (4.5, "abcd")]
PAIRS = [(0.5, "ab"), (1.0, "cd"), (1.5, "ab"), (2.0, "cd")]
ALONE = [(float(n), "abcd"[n % 4]) for n in range(1, 9)]


def repeated(steps: list[tuple[float, str]]) -> list[tuple[float, str]]:
    """`steps` again and again, one second behind the last."""
    return [(at + turn * steps[-1][0], devices) for turn in range(20) for at, devices in steps]
