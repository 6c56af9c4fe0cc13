"""Comparison of the files that a resumed run reads with those with which the run began."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from ..errors import EmulatorError
from ..plugins.python_file import Reference
from ..scenario import Scenario
from ..scenario.reading.kept_figures import has_figures
from ..scenario.reading.plugin_files import is_data, named_code
from ..scenario.reading.profiles import Library, inline
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
