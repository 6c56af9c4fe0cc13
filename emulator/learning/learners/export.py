"""Export of a model's graphs, made once for each version of TensorFlow and cached.

Own models are exported once for each content of the user's files. Keras builds them in a process of
its own; the initial weights of other seeds are added to the folder of the export later.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from ... import layout
from ...errors import HostError, PythonFileError
from ...machine.cache import cache, made_again
from ...machine.installed import remedy, tensorflow, versions
from ...plugins.python_file import Reference, is_reference
from .. import models
from ..models import Model, OwnModel, saved_model
from ..models.own_model import DESCRIPTION, KerasRequest, ModelSource
from . import graph, stages
from .graph import ABOUT, EVALUATION, GRADIENT
from .stages import LAYERS, STAGES

SUMS = "SHA256SUMS"
"""File beside the graphs with their SHA-256 digests, in the format of `sha256sum`."""


def exported(model: str) -> Path:
    """Return the folder of the graphs of `model`; exporting them first takes some seconds.

    TensorFlow is imported by a process of its own, as it would stay in this one. Damaged graphs are
    made again. Raises HostError with the missing part or TensorFlow's message.
    """
    folder = graphs_folder(model)
    kept(folder, lambda made: _export(model, made))
    return folder


def graphs_folder(model: str) -> Path:
    """Return the folder of graphs called `model`, which depends on TensorFlow and our exporting
    code."""
    return cache("graphs", f"{model}-{tensorflow_version()}-{_digest()}")


def kept(folder: Path, export: Callable[[Path], None]) -> None:
    """Let `export` make a folder that becomes `folder`, unless whole graphs are there.

    Raises HostError if the cache cannot be written.
    """
    damage = _damage(folder)
    if damage and folder.exists():
        made_again(folder, damage)
    if damage:
        try:
            _make(folder, export)
        except OSError as error:
            raise HostError(
                f"cannot keep graphs in {folder.parent}: {error.strerror}: set EMULATE_CACHE to a "
                "folder that can be written"
            ) from error


def _make(folder: Path, export: Callable[[Path], None]) -> None:
    """Let `export` make a folder, which becomes `folder` with the sums of its files."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    # beside the folder, hence on the same file system: the result moves in one step
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as making:
        made = Path(making, "graphs")
        export(made)
        sums = [f"{_sum(file)}  {file.name}\n" for file in sorted(made.iterdir())]
        (made / SUMS).write_text("".join(sums), encoding="utf-8")
        _publish(made, folder)


def _damage(folder: Path) -> str:
    """Return the first fault of the graphs in `folder`; empty if there is none."""
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
        sums = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
        needed = {LAYERS, STAGES} if DESCRIPTION not in sums else set()
        for name in dict.fromkeys((GRADIENT, EVALUATION, ABOUT, *needed, *sums)):
            if _sum(folder / name) != sums.get(name):
                return f"{name} does not have its SHA-256"
    except FileNotFoundError as error:
        return f"{Path(error.filename).name} is missing"
    except (OSError, ValueError) as error:
        return str(error)
    return ""


def _sum(file: Path) -> str:
    return sha256(file.read_bytes()).hexdigest()


def tensorflow_version() -> str:
    """Return the installed version, without importing TensorFlow. Raises HostError."""
    if package := tensorflow():
        return package[1].version
    raise HostError(f"TensorFlow is not installed: {remedy()}")


def _digest() -> str:
    """Return a digest of the sources that decide a graph: a change of them makes a new graph."""
    sources = sorted(Path(models.__file__).parent.glob("*.py"))
    sources += [Path(file) for file in (layout.__file__, graph.__file__, stages.__file__)]
    sources += sorted(Path(__file__).with_name("tensorflow").glob("*.py"))
    return sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()[:12]


def _export(model: str, folder: Path) -> None:
    """Run a process that exports the graphs of `model` into the new `folder`."""
    folder.mkdir()
    process = subprocess.run(
        [
            sys.executable,
            "-m",
            "emulator.learning.learners.tensorflow.graph_export",
            model,
            str(folder),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        encoding="utf-8",
    )
    if process.returncode:
        raise HostError(f"TensorFlow could not export {model}:\n{process.stderr[-2000:].strip()}")


def _publish(made: Path, folder: Path) -> None:
    """Move the graphs in `made` to `folder`, replacing damaged ones."""
    with suppress(FileNotFoundError):
        folder.rename(made.with_name("damaged"))
    try:
        made.rename(folder)
    except OSError:
        if _damage(folder):  # else another process was first, with the same graphs
            raise


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
