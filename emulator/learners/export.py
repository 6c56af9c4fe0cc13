"""A model's graphs are exported once for each version of TensorFlow, and kept."""

import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from .. import layout, models
from ..errors import HostError
from ..machine.cache import cache
from ..machine.installed import remedy, tensorflow
from ..machine.remade_files import made_again
from . import graph
from .graph import ABOUT, EVALUATION, GRADIENT

SUMS = "SHA256SUMS"
"""The file beside the graphs that tells whether they are sound, as `sha256sum` writes it."""


def exported(model: str) -> Path:
    """The folder of the model's graphs; if there is none yet it takes some seconds to make.

    TensorFlow is imported by a process of its own: here it would stay for good. Graphs that are
    damaged are made again. A HostError says what is missing or what TensorFlow said.
    """
    folder = cache("graphs", f"{model}-{tensorflow_version()}-{_digest()}")
    damage = _damage(folder)
    if damage and folder.exists():
        made_again(folder, damage)
    if damage:
        try:
            _make(model, folder)
        except OSError as error:
            raise HostError(
                f"cannot keep graphs in {folder.parent}: {error.strerror}: set EMULATE_CACHE to a "
                "folder that can be written"
            ) from error
    return folder


def _make(model: str, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as making:
        made = Path(making, "graphs")
        _export(model, made)
        sums = [f"{_sum(file)}  {file.name}\n" for file in sorted(made.iterdir())]
        (made / SUMS).write_text("".join(sums))
        _publish(made, folder)


def _damage(folder: Path) -> str:
    """Return what is wrong with the graphs in `folder`; empty if nothing is."""
    try:
        lines = (folder / SUMS).read_text().splitlines()
        sums = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
        for name in (GRADIENT, EVALUATION, ABOUT):
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
    """The version that is installed, found without importing it."""
    if found := tensorflow():
        return found[1].version
    raise HostError(f"TensorFlow is not installed: {remedy()}")


def _digest() -> str:
    """Marks the sources that decide what a graph is: a change of them makes a new one."""
    sources = sorted(Path(models.__file__).parent.glob("*.py"))
    sources += [
        Path(layout.__file__),
        Path(graph.__file__),
        Path(__file__).with_name("tensorflow.py"),
    ]
    return sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()[:12]


def _export(model: str, folder: Path) -> None:
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "emulator.learners.tensorflow", model, str(folder)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    if done.returncode:
        raise HostError(f"TensorFlow could not export {model}:\n{done.stderr[-2000:].strip()}")


def _publish(made: Path, folder: Path) -> None:
    with suppress(FileNotFoundError):
        folder.rename(made.with_name("damaged"))
    try:
        made.rename(folder)
    except OSError:
        if _damage(folder):  # else another process was first, with the same graphs
            raise
