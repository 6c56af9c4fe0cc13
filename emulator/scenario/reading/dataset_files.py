"""Finds the data that `training.dataset` names by a path, checks every value, and finds owners."""

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from ...errors import PythonFileError
from ...learning.datasets import DATASETS, Description, OwnDataset, describe
from ...learning.datasets.own import DataMistake, OwnDataError, is_path
from ...learning.datasets.own.kept_data import resolved
from ...plugins.python_file import Reference, is_reference
from .document import Document, Mark, Mistake
from .dump import plain

_ADDRESS = ("training", "dataset")
PATHS = ("file", "test_file")
"""Keys of a data set that are paths."""

_OWN: TypeAdapter[OwnDataset] = TypeAdapter(OwnDataset)


def find_dataset(document: Document, folder: Path) -> None:
    """Put a mapping with the absolute path and the SHA-256 of the data in place of its path.

    Paths count from `folder`. The examples are in the cache afterwards. Adds every mistake in the
    data to `document`; a mistake in the mapping is left to the reader of the scenario.
    """
    given = document.at(_ADDRESS)
    if any(document.has_mistake((*_ADDRESS, key)) for key in PATHS):
        document.broken.add(_ADDRESS)  # without data, nothing else can be checked against it
        return
    if isinstance(given, str) and is_path(given):
        given = {"file": given}
    if not isinstance(given, dict):
        return
    paths = {key: given[key] for key in PATHS if isinstance(given.get(key), str)}
    try:
        absolute = {
            key: absolute_path(path, document.folder((*_ADDRESS, key), path, folder))
            for key, path in paths.items()
        }
    except PythonFileError as error:
        document.complain(_ADDRESS, str(error))
        return
    document.data["training"]["dataset"] = mapping = {**given, **absolute}
    try:
        own = _OWN.validate_python(mapping)
    except ValidationError:
        return
    try:
        mapping |= plain(resolved(own))
    except OwnDataError as error:
        for mistake in error.mistakes:
            document.note(placed(mistake, document.mark(_ADDRESS)))
        document.broken.add(_ADDRESS)


def absolute_path(path: str, folder: Path) -> str:
    """Return the absolute path of the data at `path`, which counts from `folder`.

    Raises PythonFileError if the data becomes a function only so, as by a link of such a name.
    """
    if is_reference(path):
        return str(Reference.read(path, folder).resolved)
    absolute = str((folder / path).resolve())
    if is_reference(absolute):
        raise PythonFileError(None, None, f"{path} leads to the function {absolute}: write that")
    return absolute


def find_owners(document: Document, folder: Path) -> None:
    """Replace the path in `training.split.file`, from `folder` on, by an absolute path.

    Adds a mistake to `document` if there is no such file.
    """
    split = document.at(("training", "split"))
    if not isinstance(split, dict) or not isinstance(split.get("file"), str):
        return
    address = ("training", "split", "file")
    file = (document.folder(address, split["file"], folder) / split["file"]).resolve()
    split["file"] = str(file)
    if not file.is_file():
        document.complain(address, f"there is no file {file}")


def placed(mistake: DataMistake, named: Mark | None) -> Mistake:
    """Return `mistake` at its own place; its message ends with `named`, the place of the path.

    `named` is None if no scenario names the data.
    """
    file, line, address = mistake.place
    if named is None:
        return Mistake(Mark(file, line, address), mistake.message)
    where = str(Mistake(named, "")).removesuffix(": ")
    return Mistake(Mark(file, line, address), f"{mistake.message} (named by {where})")


def known_data(document: Document) -> Description | None:
    """Return the description of the data set; None for one that is not known or has a mistake."""
    dataset = document.at(_ADDRESS)
    if isinstance(dataset, str):
        return DATASETS.get(dataset)
    try:
        own = _OWN.validate_python(dataset)
    except ValidationError:
        return None
    return None if document.has_mistake(_ADDRESS) else describe(own)
