"""Comparison of the files that a resumed run reads with those with which the run began."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from hashlib import file_digest
from pathlib import Path
from typing import Any

from ..errors import EmulatorError
from ..plugins.python_file import is_reference
from ..scenario import Scenario
from ..scenario.reading.plugin_files import plugin_kind, plugin_places
from ..scenario.reading.yaml_subset import read
from .plugin_sources import FOLDER, plugin_sources
from .results import read_json


def require_unchanged(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Raise EmulatorError unless the sources kept in the run's `folder`, the model with which the
    training began and the file of owners have the SHA-256 that `manifest` names.
    """
    entries = [(folder / each["file"], each["sha256"]) for each in manifest.get("plugins", ())]
    outside = [manifest[key] for key in ("initial", "owners") if key in manifest]
    entries += [(Path(each["file"]), each["sha256"]) for each in outside]
    _refuse(folder, [found for file, known in entries for found in _difference(file, known)])


def changed_code(folder: Path, *, figures_only: bool) -> list[str]:
    """Return in words each Python file that the scenario in a run's `folder` names, and that is not
    the file which the run kept; with `figures_only` of the figures of its report.

    These files would run on this host. The digests are those of the run's own manifest: they tell
    a change, and not who wrote the folder.
    """
    scenario = folder / "scenario.yaml"
    if not scenario.is_file() or b".py:" not in scenario.read_bytes():
        return []  # most runs, and the file of thousands of devices takes seconds to read
    document = read(scenario)
    files = {
        folder / text.rpartition(":")[0]
        for address in plugin_places(document)
        if not figures_only or address[0] == "report"
        if is_reference(text := plugin_kind(document.at(address)))
    }
    if not files:
        return []
    kept = read_json(folder / "manifest.json").get("plugins", [])
    known = {folder / each["file"]: each["sha256"] for each in kept}
    strange = [file for file in files if file not in known]
    return [
        *(f"{file} is not among the files that the run kept" for file in sorted(strange)),
        # a kept file may import any other of them
        *(words for file, digest in known.items() for words in _difference(file, digest)),
    ]


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
