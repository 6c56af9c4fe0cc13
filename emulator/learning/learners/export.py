"""Export of a model's graphs, made once for each version of TensorFlow and cached."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from ... import layout
from ...errors import HostError
from ...machine.cache import cache, made_again
from ...machine.installed import remedy, tensorflow
from .. import models
from ..models.own_model import DESCRIPTION
from . import crossings, graph, stages
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
    sources += [Path(crossings.__file__), Path(__file__).with_name("keras_request.py")]
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
