"""From what the nodes left behind to a run folder that is complete."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .folder import RunFolder
from .runlog import Record, line, merge, read


def gather(folder: RunFolder, server: Path, devices: Sequence[Record]) -> list[Record]:
    """Write `run.jsonl` from the server's log and the supervisors' reports; return it.

    The server's model, or the last checkpoint if it had no time to leave one, becomes
    `model.npz`.
    """
    log = server / "run.jsonl"
    own = list(read(log)) if log.is_file() else []
    records = merge([own, list(devices)])
    write_log(folder.records, records)
    for name in ("model.npz", "checkpoint.npz"):
        if (server / name).is_file() and not (folder.path / "model.npz").exists():
            (server / name).replace(folder.path / "model.npz")
    shutil.rmtree(server, ignore_errors=True)
    return records


def recover(path: Path) -> None:
    """Save what is left of a run whose conductor was killed: the server's log and model.

    What only the conductor knew, from the devices' supervisors, is lost. Does nothing to a
    folder that is complete.
    """
    folder = RunFolder(path, path.name.rpartition("-")[2])
    if not folder.records.is_file() and (folder.server / "run.jsonl").is_file():
        gather(folder, folder.server, [])
        folder.discard_work()


def write_log(path: Path, records: Sequence[Record]) -> None:
    _replace(path, b"".join(map(line, records)))


def write_json(path: Path, content: dict[str, Any]) -> None:
    _replace(path, json.dumps(content, indent=2, allow_nan=False).encode() + b"\n")


def _replace(path: Path, content: bytes) -> None:
    beside = path.with_name(f".{path.name}.part")
    beside.write_bytes(content)
    beside.replace(path)
