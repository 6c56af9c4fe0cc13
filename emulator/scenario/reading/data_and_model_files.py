"""Files of data, models and weights in a scenario: found, read, and checked with their places."""

from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ...errors import HostError, PythonFileError
from ...learning.datasets import DATASETS, Description, OwnDataset, describe
from ...learning.datasets.own import DataMistake, OwnDataError, is_path
from ...learning.datasets.own.kept_data import resolved
from ...learning.learners.export import own_model
from ...learning.models import MODELS, Model, saved_model
from ...learning.models.own_model import LOSSES, ModelSource, source
from ...plugins.python_file import Reference, is_reference
from .document import Address, Document, Mark, Mistake
from .dump import plain

_DATASET = ("training", "dataset")
PATHS = ("file", "test_file")
"""Keys of a data set that are paths."""

_OWN: TypeAdapter[OwnDataset] = TypeAdapter(OwnDataset)


def find_dataset(document: Document, folder: Path) -> None:
    """Put a mapping with the absolute path and the SHA-256 of the data in place of its path.

    Paths count from `folder`. The examples are in the cache afterwards. Adds every mistake in the
    data to `document`; a mistake in the mapping is left to the reader of the scenario.
    """
    given = document.at(_DATASET)
    if any(document.has_mistake((*_DATASET, key)) for key in PATHS):
        document.broken.add(_DATASET)  # without data, nothing else can be checked against it
        return
    if isinstance(given, str) and is_path(given):
        given = {"file": given}
    if not isinstance(given, dict):
        return
    paths = {key: given[key] for key in PATHS if isinstance(given.get(key), str)}
    try:
        absolute = {
            key: absolute_path(path, document.folder((*_DATASET, key), path, folder))
            for key, path in paths.items()
        }
    except PythonFileError as error:
        document.complain(_DATASET, str(error))
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
            document.note(placed(mistake, document.mark(_DATASET)))
        document.broken.add(_DATASET)


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
    dataset = document.at(_DATASET)
    if isinstance(dataset, str):
        return DATASETS.get(dataset)
    try:
        own = _OWN.validate_python(dataset)
    except ValidationError:
        return None
    return None if document.has_mistake(_DATASET) else describe(own)


_MODEL, _LOSS = ("training", "model"), ("training", "loss")


def find_own_model(document: Document, folder: Path) -> None:
    """Replace the references in `training.model` and `training.loss`, which count from `folder`, by
    absolute ones, and export the own model.

    Adds a mistake to `document` if the model cannot be trained.
    """
    for address in (_MODEL, _LOSS):
        given = document.at(address)
        if is_reference(given):
            inside = document.folder(address, given, folder)
            document.data["training"][address[-1]] = str(Reference.read(given, inside).resolved)
    made_by = _source(document)
    if made_by is None or not (made_by.loss in LOSSES or is_reference(made_by.loss)):
        return
    if known_data(document) is not None and (reason := _unfit_loss(made_by)):
        document.complain(_LOSS, reason)
        return
    seed = document.at(("seed",))
    try:
        own_model(made_by, seed if isinstance(seed, int) else 0)
    except PythonFileError as error:
        document.complain(_blamed(error, made_by), str(error))
    except HostError as error:  # TensorFlow is missing, or refuses the model
        document.complain(_MODEL, str(error))


def known_model(document: Document) -> Model | None:
    """Return the model of `document`; None for a layer table, or for a model with a mistake."""
    if document.has_mistake(_MODEL) or document.has_mistake(_LOSS):
        return None
    name, made_by = document.at(_MODEL), _source(document)
    if made_by is not None:
        return own_model(made_by) if made_by.loss in LOSSES or is_reference(made_by.loss) else None
    return MODELS.get(name) if isinstance(name, str) else None


def _source(document: Document) -> ModelSource | None:
    """Return the functions of the own model of `document`; None without an own model."""
    reference = document.at(_MODEL)
    if not is_reference(reference):
        return None
    data = known_data(document)
    regression = data is not None and data.task.regression
    loss = document.at(_LOSS)
    return source(reference, loss if isinstance(loss, str) else None, regression)


def _unfit_loss(made_by: ModelSource) -> str:
    """Return the reason against the loss of `made_by`; empty if it fits the task."""
    if made_by.loss == "mse" and not made_by.regression:
        return "'mse' needs targets, and the data has classes: use crossentropy"
    if made_by.loss == "crossentropy" and made_by.regression:
        return "'crossentropy' needs classes, and the data has targets: use mse"
    return ""


def _blamed(error: PythonFileError, made_by: ModelSource) -> Address:
    """Return the address of the key that names the file with the `error`."""
    file: Any = error.mistakes[0]["file"]
    named = str(file) if file is not None else ""
    return _LOSS if made_by.loss.startswith(f"{named}:") and named else _MODEL


_INITIAL = ("training", "initial")


def find_initial(document: Document, folder: Path) -> None:
    """Replace the path in `training.initial`, from `folder` on, by the file's absolute path.

    Adds a mistake to `document` if the file is no saved model of the scenario's layout.
    """
    given, name = document.at(_INITIAL), document.at(("training", "model"))
    # absent, or refused by its type or as no text of a path
    if not isinstance(given, str) or document.has_mistake(_INITIAL):
        return
    if not isinstance(name, str):
        document.complain(_INITIAL, "a layer table is not trained, so it begins with no model")
        return
    # `latest` in a path is a link that moves: the run's own scenario names the file itself
    file = (document.folder(_INITIAL, given, folder) / given).resolve()
    document.data["training"]["initial"] = str(file)
    if (network := known_model(document)) is None:
        return
    try:
        saved_model.read(file, network.layout)
    except OSError as error:
        document.complain(
            _INITIAL,
            f"{file} cannot be read: {error.strerror}: write the path of a run's model.npz, from "
            "the folder of this file",
        )
    except ValueError as error:
        document.complain(_INITIAL, f"{file} does not hold a {name!r}: {error}")
