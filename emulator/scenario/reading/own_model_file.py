"""Finds the Python file of an own model, and has the model exported if that was not done before."""

from pathlib import Path
from typing import Any

from ...errors import PythonFileError
from ...learners.own_export import own_model
from ...models import MODELS, Model
from ...models.own_model import ModelSource
from ...plugins.python_file import Reference, is_reference
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
            document.data["training"][address[-1]] = str(Reference.read(given, folder).resolved)
    origin = _origin(document)
    if origin is None:
        return
    seed = document.at(("seed",))
    try:
        own_model(origin, seed if isinstance(seed, int) else 0)
    except PythonFileError as error:
        document.complain(_blamed(error, origin), str(error))


def known_model(document: Document) -> Model | None:
    """Return the model of `document`; None for a layer table, or for a model with a mistake."""
    if document.has_mistake(_MODEL) or document.has_mistake(_LOSS):
        return None
    name, origin = document.at(_MODEL), _origin(document)
    if origin is not None:
        return own_model(origin)
    return MODELS.get(name) if isinstance(name, str) else None


def _origin(document: Document) -> ModelSource | None:
    """Return the functions of the own model of `document`; None without an own model."""
    reference = document.at(_MODEL)
    if not is_reference(reference):
        return None
    return ModelSource(reference)


def _blamed(error: PythonFileError, origin: ModelSource) -> Address:
    """Return the address of the key that names the file with the `error`."""
    file: Any = error.mistakes[0]["file"]
    named = str(file) if file is not None else ""
    return _LOSS if origin.loss.startswith(f"{named}:") and named else _MODEL
