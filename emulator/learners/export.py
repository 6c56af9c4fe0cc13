"""A model's graphs are exported once for each version of TensorFlow, and kept."""

import os
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path

from .. import layout, models, task
from ..cache import cache
from ..errors import HostError
from ..installed import remedy, tensorflow
from . import graph


def exported(model: str) -> Path:
    """The folder of the model's graphs; if there is none yet it takes some seconds to make.

    TensorFlow is imported by a process of its own: here it would stay for good. A HostError
    says what is missing or what TensorFlow said.
    """
    folder = cache("graphs", f"{model}-{tensorflow_version()}-{_digest()}")
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as making:
            _export(model, Path(making, "graphs"))
            _publish(Path(making, "graphs"), folder)
    return folder


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
        Path(task.__file__),
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
    try:
        made.rename(folder)
    except OSError:
        if not folder.exists():  # else another process was first, with the same graphs
            raise
