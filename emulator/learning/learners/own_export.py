"""Export of own models: once for each content of the user's files, and cached.

Keras builds the model in a process of its own. The initial weights of other seeds are added to the
folder of the export later.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from ...errors import HostError, PythonFileError
from ...machine.installed import versions
from ...plugins.python_file import Reference, is_reference
from .. import models
from ..models import Model, OwnModel, saved_model
from ..models.own_model import ModelSource
from .export import exported, graphs_folder, kept
from .keras_request import KerasRequest


def own_model(origin: ModelSource, seed: int = 0) -> OwnModel:
    """Return the own model of `origin`. If it is not exported, export it, with the initial weights
    of `seed`.

    Raises PythonFileError, with file and line, if the model cannot be trained.
    """
    name = model_name(origin)
    folder = graphs_folder(name)
    kept(folder, lambda made: _run(KerasRequest(origin, name, str(made), seed)))
    return models.register(folder, origin)


def ready(model: Model, seed: int) -> Path:
    """Return the folder of the graphs of `model`; of an own model, with the initial weights of
    `seed`.

    Raises as `exported` and `own_model` do.
    """
    if not isinstance(model, OwnModel):
        return exported(model.name)
    known = own_model(model.origin, seed)
    if known.name != model.name:
        file, _, _ = model.origin.reference.rpartition(":")
        raise PythonFileError(file, None, "has changed since the scenario was read: begin again")
    if not model.initial_file(seed).exists():
        _run(KerasRequest(model.origin, model.name, str(model.folder), seed, weights_only=True))
    return model.folder


def write_keras_weights(model: OwnModel, trained: Path, out: Path) -> None:
    """Write the parameters of `trained`, a run's `model.npz`, as Keras saves weights.

    `out` ends in `.weights.h5`, as Keras demands. Raises PythonFileError if the function of `model`
    fails, and ValueError or OSError if `trained` does not fit the model.
    """
    saved_model.read(trained, model.layout)
    part = out.with_name(f".{os.getpid()}.{out.name}")
    try:
        _run(KerasRequest(model.origin, model.name, str(part), 0, trained=str(trained)))
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)


def model_name(origin: ModelSource) -> str:
    """Return the name of a model, with a digest of all that it is made of, wherever files lie."""
    given = Reference.read(origin.reference, "/")
    loss = Reference.read(origin.loss, "/") if is_reference(origin.loss) else None
    word = loss.name if loss else origin.loss
    parts = [given.name, word, str(origin.regression), *_sources(given)]
    parts.append(str(versions(["keras"])))
    if loss:
        parts += _sources(loss)
    digest = sha256("\0".join(parts).encode()).hexdigest()[:12]
    return f"{given.file.stem}-{given.name}-{digest}"


def _sources(reference: Reference) -> list[str]:
    """Return the sources of the file of `reference` and of the files that it imports."""
    return [f"{path}\0{text!r}" for path, text in reference.contents().items()]


def _run(request: KerasRequest) -> None:
    """Run the process that serves `request`. Raises PythonFileError with its refusal."""
    process = subprocess.run(
        [sys.executable, "-m", "emulator.learning.learners.tensorflow.keras_export"],
        input=json.dumps(asdict(request)),
        capture_output=True,
        text=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "KERAS_BACKEND": "tensorflow"},
        encoding="utf-8",
    )
    answer = process.stdout
    if not answer and process.returncode == 0:
        file, _, _ = request.origin.reference.rpartition(":")
        raise PythonFileError(file, None, "ended its process before the model was exported")
    if not answer:
        said = process.stderr[-2000:].strip()
        raise HostError(f"TensorFlow could not export {request.origin.reference}:\n{said}")
    refusal: Mapping[str, Any] | None = json.loads(answer)
    if refusal is not None:
        raise PythonFileError(refusal["file"], refusal["line"], refusal["message"])
