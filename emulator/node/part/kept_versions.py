"""Versions of the model that are kept in files, and the process that measures them after the run.

A file holds a line of JSON, the record of the measurement without its score, and the parameters of
the version behind the line, 4 bytes each. The file is removed once the version has a score.
"""

import select
import sys
from pathlib import Path

from msgspec.structs import replace

from ...log.lines import line, parse
from ...log.records import EvaluationRecord
from ...plugins.plain_files import open_plain
from ...vectors import Vector

FOLDER = "versions"
"""Folder in the server's output folder."""

_SUFFIX = ".version"
_LONGEST = 4096
"""Most bytes of the record in a file."""


class KeptVersions:
    """The server's side: stores each version that is due."""

    def __init__(self, output: Path) -> None:
        """Make the folder in `output` if it is missing."""
        self._folder = output / FOLDER
        self._folder.mkdir(exist_ok=True)

    def keep(self, record: EvaluationRecord, theta: Vector) -> None:
        """Store the parameters `theta` of the version in `record`.

        A version that is reached again after a crash of the server takes the place of the file from
        before the crash. A reader finds the whole file or none. Raises OSError if the disk takes no
        more; the disk then has the room of the half file again, which the log may need.
        """
        path = version_file(self._folder, record.version)
        part = path.with_suffix(".part")
        try:
            with part.open("wb") as sink:
                sink.write(line(record))
                sink.write(theta.astype("<f4", copy=False).data)
            part.replace(path)
        except OSError:
            part.unlink(missing_ok=True)
            raise


def version_file(folder: Path, version: int) -> Path:
    """Return the file of `version` in `folder`; names are in the order of versions."""
    return folder / f"{version:012d}{_SUFFIX}"


def version_of(path: Path) -> int:
    """Return the version that the name of the file at `path` gives."""
    return int(path.stem)


def kept_versions(folder: Path) -> list[Path]:
    """Return the files of all versions that are kept in `folder`, the oldest version first."""
    return sorted(path for path in folder.glob(f"*{_SUFFIX}") if path.stem.isdecimal())


def read_at(path: Path) -> float:
    """Return the run's time at the version in the file at `path`; 0 if the file is damaged."""
    try:
        with open_plain(path) as file:
            record = parse(file.readline(_LONGEST))
    except (OSError, ValueError):
        return 0.0
    return record.at if record else 0.0


def read_version(path: Path, size: int) -> tuple[EvaluationRecord, Vector]:
    """Return the record and the `size` parameters in the file at `path`.

    Raises a ValueError if the file does not hold them.
    """
    import numpy as np  # late: the commands that only count files start without NumPy

    with open_plain(path) as file:
        record, theta = parse(file.readline(_LONGEST)), file.read(4 * size + 1)
    if not isinstance(record, EvaluationRecord) or record.version != version_of(path):
        raise ValueError("not the record of this version")
    if len(theta) != 4 * size:
        raise ValueError(f"not {size:,} parameters of 4 bytes")
    return record, np.frombuffer(theta, "<f4")


def main() -> None:
    """Measure every version in `config.VERSIONS` on the test set, the oldest version first.

    This process runs in a container without a network, after the run. For each version it writes
    the record `evaluation`, as a line of JSON, to its standard output. It ends early when its
    standard input ends: the conductor is gone then. The file of a version that cannot be read is
    named on standard error, and passed over.
    """
    # late: the commands that only count files start without them
    from ...learning.learners.device import DeviceEvaluator
    from ...learning.learners.graph import read_layout
    from .. import config

    evaluator = DeviceEvaluator(config.GRAPH, config.SHARD)
    size = read_layout(config.GRAPH).size
    for path in kept_versions(config.VERSIONS):
        try:
            record, theta = read_version(path, size)
        except ValueError as error:
            print(f"{path.name} is damaged: {error}", file=sys.stderr, flush=True)
            continue
        accuracy, loss, error_ = evaluator.evaluate(theta)
        measured = replace(record, accuracy=accuracy, loss=loss, error=error_)
        sys.stdout.buffer.write(line(measured))
        sys.stdout.buffer.flush()
        if select.select([sys.stdin], [], [], 0)[0]:
            return


if __name__ == "__main__":
    main()
