"""Finds the Python file of an own model, and has the model exported if that was not done before."""

from pathlib import Path
from typing import Any

from ...errors import HostError, PythonFileError
from ...learning.learners.own_export import own_model
from ...learning.models import MODELS, Model
from ...learning.models.own_model import LOSSES, ModelSource, source
from ...plugins.python_file import Reference, is_reference
from .dataset_files import known_data
from .document import Address, Document

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
