"""Chores of the server: checkpoints of the model, and the list of members that have said hello."""

from collections.abc import Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Protocol

import msgspec

from ...core.server.parameters import Saved
from ...core.wire.messages import Hello
from ...layout import Layout
from ...learning.models import saved_model
from ...learning.models.saved_model import SavedModel
from ...log.lines import LineTail, RunLog
from ...log.records import CheckpointRecord
from ...optimizers.base import OptimizerState
from ...world.roles import CONDUCTOR
from ..orders import BEGINS, PartOrders


def save(path: Path, state: Saved, layout: Layout) -> None:
    """Write the model of `layout` in `state`, and its optimizer's state, to the npz file `path`.

    A reader sees the old file or the new file, never half a file.
    """
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
    """A Chore that saves the server's model every `every` seconds, counted from the run's zero.

    With a `thread`, the thread writes a copy of the model while the server goes on, one copy at a
    time: checkpoints that come due meanwhile become one, of the newest model. Without a `thread`,
    `tick` returns once the file is written. The record has the time of the copy.
    """

    def __init__(
        self,
        server: Training,
        every: float,
        path: Path,
        log: RunLog,
        thread: Executor | None = None,
    ) -> None:
        self._server, self._every, self._path, self._log = server, every, path, log
        self._thread = thread
        self._number = 1
        self._writing: tuple[Future[None], CheckpointRecord] | None = None

    def deadline(self) -> float | None:
        zero = self._server.zero
        if zero is None or self._writing is not None:
            return None  # the driver ticks twice a second, which notices the end of the writing
        return zero + self._number * self._every

    def tick(self, now: float) -> None:
        """Begin the checkpoint that is due. Raises OSError if the disk did not take the last."""
        if self._writing is not None and self._writing[0].done():
            self.finish()
        due, server = self.deadline(), self._server
        if due is None or now < due or server.zero is None:
            return
        record = CheckpointRecord(now - server.zero, server.version)
        passed = int((now - server.zero) // self._every)
        self._number = (
            max(self._number, passed) + 1
        )  # not `passed + 1`: the quotient may be rounded down
        if self._thread is None:
            save(self._path, server.model, server.whole)
            self._log.write(record)
        else:
            model = _copied(server.model, server.whole)
            self._writing = self._thread.submit(saved_model.write, self._path, model), record

    def finish(self) -> None:
        """Wait for the checkpoint that is being written, and record it.

        Raises OSError if the disk did not take it.
        """
        if self._writing is not None:
            (written, record), self._writing = self._writing, None
            written.result()
            self._log.write(record)


def _copied(state: Saved, layout: Layout) -> SavedModel:
    """Return the model of `layout` in `state`, which later steps do not change."""
    kind, arrays = state.optimizer_state()
    copies = OptimizerState(kind, {name: array.copy() for name, array in arrays.items()})
    return SavedModel(state.snapshot(), state.version, layout, copies)


HELLOS = "hellos.jsonl"


class Member(msgspec.Struct):
    """A line of the file: the name of a node after its first hello."""

    node: str


class Roll:
    """A Chore that appends a line of JSON to `path` for every member's first hello."""

    def __init__(self, server: Training, path: Path) -> None:
        self._server, self._path = server, path
        self._missing = {*server.missing} - {CONDUCTOR}

    def deadline(self) -> float | None:
        return None

    def tick(self, now: float) -> None:
        if not self._missing:
            return
        missing = set(self._server.missing)
        if new := sorted(self._missing - missing):
            with self._path.open("ab") as file:
                file.write(b"".join(msgspec.json.encode(Member(node)) + b"\n" for node in new))
            self._missing = missing


class ConductorsHello:
    """Says hello to the server for the conductor, once the conductor lets the run begin.

    A messenger of the server's driver.
    """

    LOOK = 0.02
    """Seconds between two looks."""

    def __init__(self, server: Training, orders: PartOrders) -> None:
        self._orders = orders
        self._due: float | None = 0.0 if CONDUCTOR in server.missing else None

    def deadline(self) -> float | None:
        return self._due

    def messages(self, now: float) -> Sequence[Hello]:
        if self._due is None or now < self._due:
            return ()
        if BEGINS not in self._orders.settings():
            self._due = now + self.LOOK
            return ()
        self._due = None
        return (Hello(CONDUCTOR, 0),)


def members(path: Path) -> LineTail[Member]:
    """Return a reader of the members that said hello since the last look."""
    return LineTail(path, msgspec.json.Decoder(Member).decode)
