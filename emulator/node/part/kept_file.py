"""The state that a device keeps over a loss of power, in a file of the container.

The file is NumPy's npz, with the numbers as JSON in an array of bytes. Nothing in it is executed.
"""

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from ...codecs.base import Encoder
from ...core.worker.kept_state import KeptState, go_on, kept
from ...learning.learners.batches import Batches, Position

FILE = Path("/tmp/state.npz")


class KeptFile:
    """Stores the state of a worker after every push."""

    def __init__(self, encoder: Encoder, batches: Batches, path: Path = FILE) -> None:
        self._encoder, self._batches, self._path = encoder, batches, path

    def go_on(self) -> None:
        """Go on from the stored state; begin from nothing if the state is missing or damaged."""
        try:
            state = read(self._path)
            go_on(self._encoder, self._batches, state)
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile):
            return

    def forget(self) -> None:
        """Remove the stored state."""
        self._path.unlink(missing_ok=True)

    def store(self) -> None:
        """Replace the stored state by the present state, whole or not at all."""
        state = kept(self._encoder, self._batches.position())
        facts = {"updates": state.updates, "draws": state.draws, "order": state.position.draws}
        arrays: dict[str, Any] = {f"memory{n}": v for n, v in enumerate(state.vectors)}
        arrays["unused"] = state.position.unused
        arrays["facts"] = np.frombuffer(json.dumps(facts).encode(), np.uint8)
        beside = self._path.with_suffix(".part")
        with beside.open("wb") as file:
            np.savez(file, **arrays)
        os.replace(beside, self._path)


def read(path: Path) -> KeptState:
    """Return the state in the file at `path`. Raises OSError, or ValueError and others for a
    damaged file."""
    with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
        facts = json.loads(file["facts"].tobytes())
        number = sum(name.startswith("memory") for name in file.files)
        vectors = tuple(file[f"memory{n}"] for n in range(number))
        position = Position(facts["order"], file["unused"])
    return KeptState(vectors, int(facts["updates"]), facts["draws"], position)
