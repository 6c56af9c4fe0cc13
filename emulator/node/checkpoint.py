"""The model on disk. A reader sees the old file or the new file, never half a file."""

from pathlib import Path
from typing import Protocol

from ..core.parameters import Saved
from ..layout import Layout
from ..log.records import CheckpointRecord
from ..log.writing import RunLog
from ..models import saved_model
from ..models.saved_model import SavedModel


def save(path: Path, state: Saved, layout: Layout) -> None:
    """Write the model of `layout` in `state`, and its optimizer's state, to the npz file `path`."""
    model = SavedModel(state.snapshot(), state.version, layout, state.optimizer_state())
    saved_model.write(path, model)


class Training(Protocol):
    """The server's state, as read by chores."""

    @property
    def zero(self) -> float | None: ...

    @property
    def version(self) -> int: ...

    @property
    def model(self) -> Saved: ...

    @property
    def whole(self) -> Layout: ...

    @property
    def missing(self) -> list[str]: ...


class Checkpoints:
    """A Chore that saves the server's model every `every` seconds, counted from the run's zero."""

    def __init__(self, server: Training, every: float, path: Path, log: RunLog) -> None:
        self._server, self._every, self._path, self._log = server, every, path, log
        self._number = 1

    def deadline(self) -> float | None:
        zero = self._server.zero
        return None if zero is None else zero + self._number * self._every

    def tick(self, now: float) -> None:
        due = self.deadline()
        if due is None or now < due or self._server.zero is None:
            return
        server = self._server
        save(self._path, server.model, server.whole)
        self._log.write(CheckpointRecord(now - self._server.zero, server.version))
        passed = int((now - self._server.zero) // self._every)
        self._number = (
            max(self._number, passed) + 1
        )  # not `passed + 1`: the quotient may be rounded down
