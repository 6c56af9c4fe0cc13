"""Runs with something left to do, and the files from which they are resumed.

The files that a resumed run reads are compared with those with which the run began. A run in
virtual time is played again: its log is compared with the old one, then continued.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, Self

from ..errors import EmulatorError
from ..log.lines import read_timeline
from ..plugins.python_file import Reference
from ..scenario import Scenario, Timed, load
from ..scenario.reading.plugin_files import has_figures, is_data, named_code
from ..scenario.reading.profiles import Library, inline
from ..scenario.reading.yaml_subset import read
from ..world.verbs import Action
from .folder import RunFolder, conductor, mended, require_plain
from .plugin_sources import FOLDER, plugin_sources
from .results import failed_resumably, read_json, unmeasured


@dataclass(frozen=True)
class DeadRun:
    """A run without a conducting process that has not come to its own end, or was not measured."""

    folder: RunFolder
    runtime: str
    """The runtime's name: `docker` or `virtual`."""
    scenario: Scenario
    """As resolved when the run began."""
    timeline: tuple[Timed, ...]
    """The schedule of the run, as its folder has it."""


@contextmanager
def resuming(path: Path) -> Iterator[DeadRun]:
    """Let no other process resume the run in the folder at `path` during the block; yield the run.

    Raises EmulatorError as `dead_run`, if another process is at it, and if links lead out of the
    folder.
    """
    require_plain(path)
    with mended(path):
        yield dead_run(path)


def dead_run(path: Path) -> DeadRun:
    """Return the dead run in the folder at `path`.

    Raises EmulatorError, with the reason, if there is nothing to resume.
    """
    if (pid := conductor(path)) is not None:
        raise EmulatorError(f"{path.name} is running (process {pid}): there is nothing to resume")
    folder = RunFolder(path, path.name.rpartition("-")[2])
    over = (path / "summary.json").exists() and not failed_resumably(folder)
    if over and not unmeasured(folder):
        outcome = read_json(path / "summary.json").get("outcome")
        raise EmulatorError(f"{path.name} is over ({outcome}): there is nothing to resume")
    manifest = read_json(path / "manifest.json")
    require_unchanged(path, manifest)
    try:
        planned = read_timeline(path / "timeline.jsonl")
    except (OSError, ValueError) as error:
        raise EmulatorError(f"{path.name} cannot be resumed: {error}") from error
    timeline = tuple(
        Timed(line.at, Action(line.verb, line.node, line.fault, line.setting)) for line in planned
    )
    scenario = load(path / "scenario.yaml")
    if scenario.workload:
        raise EmulatorError(
            f"{path.name} cannot be resumed: it plays a workload, and the state of its programs is "
            f"gone with their containers: `emulate report {folder.run}` draws what was recorded"
        )
    require_same_packages(path, scenario)
    return DeadRun(folder, str(manifest["runtime"]), scenario, timeline)


def require_unchanged(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Raise EmulatorError unless the sources kept in the run's `folder`, the model with which the
    training began and the file of owners have the SHA-256 that `manifest` names.
    """
    entries = [(folder / each["file"], each["sha256"]) for each in manifest.get("plugins", ())]
    outside = [manifest[key] for key in ("initial", "owners") if key in manifest]
    entries += [(Path(each["file"]), each["sha256"]) for each in outside]
    _refuse(folder, [found for file, known in entries for found in _difference(file, known)])


def changed_code(folder: Path, *, figures_only: bool) -> list[str]:
    """Return in words each Python file that the scenario in a run's `folder` names, itself or by a
    profile, and that is not the file which the run kept; with `figures_only` of the figures of its
    report.

    These files would run on this host. The digests are those of the run's own manifest: they tell
    a change, and not who wrote the folder.
    """
    folder = folder.resolve()
    scenario = folder / "scenario.yaml"
    if not scenario.is_file() or (figures_only and not has_figures(scenario)):
        return []
    document = read(scenario)
    inline(document, Library(folder))
    named = [
        (address, reference)
        for address, reference in named_code(document, folder)
        if not figures_only or address[0] == "report"
    ]
    if not named:
        return []
    kept = read_json(folder / "manifest.json").get("plugins", [])
    known = {folder / each["file"]: each["sha256"] for each in kept}
    strange = {
        reference.file
        for address, reference in named
        if reference.file not in known
        and not (is_data(address) and _is_copied(reference, {*known.values()}))
    }
    return [
        *(f"{file} is not among the files that the run kept" for file in sorted(strange)),
        # a kept file may import any other of them
        *(words for file, digest in known.items() for words in _difference(file, digest)),
    ]


def _is_copied(data: Reference, digests: Collection[str]) -> bool:
    """Return whether the run kept copies, with the SHA-256 `digests`, of the file of the function
    `data` and of the files that it imports: the scenario names the file at its own place.

    A file that is gone runs no more: the examples are in the cache.
    """
    if not data.file.exists():
        return True
    return all(sha256(content).hexdigest() in digests for content in data.contents().values())


def require_same_packages(folder: Path, scenario: Scenario) -> None:
    """Raise EmulatorError unless the installed plugins of `scenario` are those whose sources the
    run's `folder` has kept.
    """
    packages = replace(plugin_sources(scenario, folder), references=())
    _refuse(
        folder,
        [
            f"the package of {point.name} ({point.value}) is not the one that the run began with: "
            f"install the one of {folder / FOLDER}"
            for point in packages.points
            if any(
                not (file := folder / FOLDER / path).is_file() or file.read_bytes() != content
                for path, content in replace(packages, points=(point,)).contents.items()
                if path.endswith(".py")
            )
        ],
    )


def _difference(file: Path, known: str) -> Iterator[str]:
    """Yield in words how `file` differs from the file with the SHA-256 `known`, if it does."""
    try:
        with file.open("rb") as content:
            found = file_digest(content, "sha256").hexdigest()
    except OSError as error:
        yield f"{file} cannot be read: {error.strerror}"
        return
    if found != known:
        yield f"{file} has changed: its SHA-256 is {found}, and was {known}"


def _refuse(folder: Path, differences: list[str]) -> None:
    """Raise EmulatorError with the `differences`, if there are any."""
    if differences:
        listed = "\n".join(differences)
        raise EmulatorError(f"{folder.name} cannot be resumed with other files:\n{listed}")


class CheckedLog:
    """A sink that takes the bytes of the file at `path` once more, and then appends to it."""

    def __init__(self, path: Path) -> None:
        """Open the file; a missing file is empty."""
        path.touch()
        self._path, self._file = path, path.open("r+b")
        self.left = path.stat().st_size
        """Bytes of the file that have not come again."""
        self._place = 0

    def write(self, line: bytes) -> None:
        """Compare `line` with the file, or append `line`. Raises EmulatorError at a difference."""
        if self.left:
            there = self._file.read(min(len(line), self.left))
            if not line.startswith(there):
                raise self.mismatch()
            self.left -= len(there)
            self._place += len(there)
            line = line[len(there) :]
        if line:
            self._file.write(line)

    def mismatch(self) -> EmulatorError:
        """Return the error for a file with other bytes than the run would have had."""
        return EmulatorError(
            f"{self._path}: the run, played again, differs behind byte {self._place}: another "
            "version of the emulator or of NumPy wrote it, or it was changed: run the scenario anew"
        )

    def flush(self) -> None:
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()
