"""From what the nodes left behind to a run folder that is complete."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import EmulatorError
from ..log.merging import merge
from .folder import RunFolder


def gather(folder: RunFolder, last: Mapping[str, Any] | None = None) -> None:
    """Write `run.jsonl` from the server's log and the supervisors' reports.

    `last` replaces the facts of the log's last record, `stop`. The server's model, or the last
    checkpoint if it had no time to leave one, becomes `model.npz`. Both authors' logs stay where
    they are if they cannot be merged.
    """
    with _replacing(folder.records) as sink:
        merge([folder.server / "run.jsonl", folder.reports], sink, last)
    for name in ("model.npz", "checkpoint.npz"):
        left = folder.server / name
        if left.is_file() and not (folder.path / "model.npz").exists():
            left.replace(folder.path / "model.npz")
    shutil.rmtree(folder.server, ignore_errors=True)
    folder.reports.unlink(missing_ok=True)


def recover(path: Path) -> None:
    """Save what is left of a run whose conductor was killed: the logs and the model.

    Does nothing to a folder that is complete. Raises an EmulatorError if the logs are damaged or
    the folder cannot be written.
    """
    folder = RunFolder(path, path.name.rpartition("-")[2])
    if not folder.records.is_file() and (folder.server / "run.jsonl").is_file():
        folder.discard_work()  # first, as a disk may be full
        try:
            gather(folder)
        except OSError as error:
            raise EmulatorError(f"{path} cannot be completed: {error}") from error
        except (KeyError, TypeError, ValueError) as error:
            raise EmulatorError(f"{path}: a log of its nodes is damaged: {error}") from error


def read_json(path: Path) -> dict[str, Any]:
    """Read a file of a run's folder; an EmulatorError says why it cannot be read."""
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise EmulatorError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise EmulatorError(f"{path}: not JSON: {error}") from error
    if not isinstance(content, dict):
        raise EmulatorError(f"{path}: a {type(content).__name__} where a mapping was expected")
    return content


def write_json(path: Path, content: dict[str, Any]) -> None:
    text = json.dumps(content, indent=2, allow_nan=False).encode() + b"\n"
    with _replacing(path) as sink:
        sink.write(text)


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes the place of `path` at the end of the block, and of an error never."""
    beside = path.with_name(f".{path.name}.part")
    try:
        with beside.open("wb") as sink:
            yield sink
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
