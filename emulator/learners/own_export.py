"""Export of own models: once for each content of the user's files, and cached.

Keras builds the model in a process of its own. The initial weights of other seeds are added to the
folder of the export later.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from .. import models
from ..errors import HostError, PythonFileError
from ..models import OwnModel
from ..plugins.python_file import Reference, is_reference
from .export import graphs_folder, kept
from .keras_request import KerasRequest


def own_model(
    reference: str, seed: int, *, loss: str = "crossentropy", regression: bool = False
) -> OwnModel:
    """Return the own model of `reference`, exported with the initial weights of `seed`.

    `reference` is a function as `/path/file.py:function`; `loss` a word or a function, and
    `regression` tells whether answers are numbers. Raises PythonFileError, with file and line, if
    the model cannot be trained.
    """
    name = _name(reference, loss, regression)
    request = KerasRequest(reference, name, "", seed, loss, regression)
    folder = graphs_folder(name)
    kept(folder, lambda made: _run(replace(request, folder=str(made))))
    model = models.register(folder)
    if not model.initial_file(seed).exists():
        _run(replace(request, folder=str(folder), weights_only=True))
    return model


def _name(reference: str, loss: str, regression: bool) -> str:
    """Return the name of a model, with a digest of all that it is made of."""
    given = Reference.read(reference, "/")
    parts = [given.name, loss, str(regression), *_sources(given)]
    if is_reference(loss):
        parts += _sources(Reference.read(loss, "/"))
    digest = sha256("\0".join(parts).encode()).hexdigest()[:12]
    return f"{given.file.stem}-{given.name}-{digest}"


def _sources(reference: Reference) -> list[str]:
    """Return the sources of the file of `reference` and of the files that it imports."""
    return [f"{path}\0{text!r}" for path, text in reference.contents().items()]


def _run(request: KerasRequest) -> None:
    """Run the process that serves `request`. Raises PythonFileError with its refusal."""
    process = subprocess.run(
        [sys.executable, "-m", "emulator.learners.tensorflow_keras"],
        input=json.dumps(asdict(request)),
        capture_output=True,
        text=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "KERAS_BACKEND": "tensorflow"},
    )
    if process.returncode:
        said = process.stderr[-2000:].strip()
        raise HostError(f"TensorFlow could not export {request.reference}:\n{said}")
    refusal: Mapping[str, Any] | None = json.loads(process.stdout.splitlines()[-1])
    if refusal is not None:
        raise PythonFileError(refusal["file"], refusal["line"], refusal["message"])
