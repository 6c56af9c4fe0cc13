"""The parameter server with inputs or states on disk, for the driver of the socket.

Each input is in the log before the server takes it, so before any reply or record that tells of it.
The server may be the shard that leads others: their reports are inputs, too.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

from ...core.plan import Durability
from ...core.server.parameter_server import ParameterServer
from ...core.server.parameters import Saved
from ...core.server.seen_pushes import SeenPushes
from ...core.sharding.leader import Leader
from ...core.wire.messages import (
    Begin,
    Hello,
    Message,
    ModelSegment,
    PatchSegment,
    Replies,
    Reply,
    Times,
)
from ...errors import WireError
from ...layout import Layout
from ...optimizers.base import OptimizerState
from ...vectors import Vector
from . import input_log
from .input_log import EndedRun, Heard, ReadModel, Refused, Shifted, Ticked, Unsent, Wrote
from .journal import Journal
from .log_tail import LogTail
from .logged_reports import LoggedReports, Records
from .state_folder import StateFolder

Lasting: TypeAlias = ParameterServer | Leader
"""A server with a state."""


class DurableServer:
    """A parameter server for the socket's driver and for chores. `tick` saves the state.

    The run's clock is the host's monotonic clock, ahead by an offset once a run was resumed: the
    time for which the run stood still does not count.
    """

    def __init__(
        self,
        server: Lasting,
        folder: StateFolder,
        tail: LogTail,
        durability: Durability,
        reports: LoggedReports | None = None,
    ) -> None:
        """Use `tail` as the sink of the server's log. `reports` come from the shards that `server`
        leads; None: it is the only one."""
        self.server, self._tail, self._reports = server, tail, reports
        self._every = durability.every
        self.seen = SeenPushes()
        self.number = 0
        """Number of the next input; with `every`, of the next state."""
        self.offset, self.resumes, self.now = 0.0, 0, 0.0
        # a state lies behind the lines of the run's log that it presumes
        self.journal = Journal(folder, tail.synchronize)
        self._saved = 0  # states saved at multiples of `every`, counted from the run's zero
        self._absent: set[str] = set()  # members that have not said hello since the run was resumed
        self._hellos: list[Hello] = []
        self.announce: Callable[[], None] = lambda: None
        """Called when a resumed run goes on."""

    # -- what a recovery calls -------------------------------------------------------------------

    def open(self, *, due: bool, lost: bool = False) -> None:
        """Begin to log; `due`: save a state soon, as a replay took time.

        `lost`: the disk has lost inputs of which `run.jsonl` has the lines. The state is saved at
        once: a replay from an older one would take these lines for those of later inputs.
        """
        if self._every is not None:
            return
        if lost:
            self.number += self._reports.untold if self._reports else 0
            self.journal.write(self.number, self.facts(), self.server.state())
        self.journal.open(self.number, due=due)
        if self._reports:
            self._reports.open(self.journal.append, written=lost)
        self._tail.beside = self._note

    def facts(self) -> dict[str, Any]:
        """Return the facts beside the server's own state, as JSON values."""
        return {
            "position": self._tail.position,
            "version": self.server.version,
            "offset": self.offset,
            "resumes": self.resumes,
            "now": self.now,
            "saved": self._saved,
            "seen": self.seen.plain(),
        }

    def restore(self, facts: dict[str, Any]) -> None:
        """Go on from `facts`."""
        self.offset, self.resumes, self.now = facts["offset"], facts["resumes"], facts["now"]
        self._saved = facts["saved"]
        self.seen.restore(facts["seen"])

    def gather_again(self, members: set[str], resumes: int, at: float) -> None:
        """Let a resumed run stand still until all `members` have said hello.

        The run's clock goes on from the last input, or from `at` emulated seconds if that is later.
        """
        assert self.server.zero is not None
        self._absent, self.resumes = set(members), resumes
        self.now = max(self.now, self.server.zero + at)

    # -- what the driver and its chores call -----------------------------------------------------

    @property
    def over(self) -> bool:
        return self.server.over

    @property
    def zero(self) -> float | None:
        zero = self.server.zero
        return None if zero is None or self._absent else zero - self.offset

    @property
    def version(self) -> int:
        return self.server.version

    @property
    def model(self) -> Saved:
        return _LoggedModel(self) if self._reports else self.server.model

    @property
    def whole(self) -> Layout:
        return self.server.whole

    @property
    def missing(self) -> list[str]:
        return sorted(self._absent) or self.server.missing

    def handle(self, node: str, message: Message, now: float) -> Replies:
        """Take `message` as `ParameterServer.handle` does; a repeated push has no replies."""
        if self._absent:
            return self._greet(message, now)
        if self.seen.repeats(message):
            return []
        at = now + self.offset
        if self.journal.is_open:
            self.journal.append(input_log.received(at, message, node))
        return self._done(at, lambda: self._take(node, message, at))

    def refuse(self, node: str, reason: str, now: float) -> None:
        if self._absent:
            return
        at = now + self.offset
        self._append(Refused(at, node, reason))

        def refuse() -> Replies:
            self.server.refuse(node, reason, at)
            return []

        self._done(at, refuse)

    def hears(self, node: str) -> bool:
        return self.server.hears(node)

    def unsent(self, unsent: Replies, now: float) -> None:
        answers, at = self.server.unsent_answers(unsent), now + self.offset
        if not answers:
            return
        self._append(Unsent(at, answers))

        def record() -> Replies:
            self.server.record_unsent(answers, at)
            return []

        self._done(at, record)

    def deadline(self) -> float | None:
        due = None if self._absent else self.server.deadline()
        return None if due is None else due - self.offset

    def tick(self, now: float) -> Replies:
        self._save_if_due(now)
        due, at = self.server.deadline(), now + self.offset
        if due is None or at < due or self._absent:
            return []
        self._append(Ticked(at))
        return self._done(at, lambda: self.server.tick(at))

    def end(self, reason: str, now: float, detail: str = "") -> Replies:
        at = now + self.offset
        self._append(EndedRun(at, reason, detail))
        return self._done(at, lambda: self.server.end(reason, at, detail))

    def read(self, part: str) -> Any:
        """Return the `model` or its `optimizer`, for which a leader asks other shards."""
        self._append(ReadModel(self.now, part))
        read: list[Any] = []

        def work() -> Replies:
            read.append(self._read(part))
            return []

        self._done(self.now, work)
        return read[0]

    def close(self) -> None:
        """Wait for the state that is being written, and close the log."""
        self.journal.close()
        self._tail.close()

    # -- inputs ----------------------------------------------------------------------------------

    def replay(self, inputs: Iterator[list[bytes]]) -> None:
        """Take the `inputs` again. Raises ValueError if no server has written one."""
        records = Records(inputs, self.number)
        if self._reports:
            self._reports.replay(records)
        while (record := records.next()) is not None:
            self._again(record)
        if self._reports:
            self._reports.replay(None)
        self.number = records.number

    def _again(self, record: input_log.Record) -> None:
        """Take the input in `record` again."""
        entry, message, line = record
        match entry:
            case Heard(now, node) if message is not None:
                self.seen.repeats(message)
                self._take(node, message, now)
            case Ticked(now):
                self.server.tick(now)
            case Refused(now, node, reason):
                self.server.refuse(node, reason, now)
            case EndedRun(now, reason, detail):
                self.server.end(reason, now, detail)
            case Unsent(now, answers):
                self.server.record_unsent(answers, now)
            case Wrote():
                self._tail.write(line)
            case Shifted(_, offset, resumes):
                self.offset, self.resumes = offset, resumes
            case ReadModel(_, part):
                self._read(part)
            case _:
                raise ValueError(f"a {type(entry).__name__} that no input of the server asks for")
        self.now = entry.now

    def _read(self, part: str) -> Vector | OptimizerState:
        model = self.server.model
        return model.snapshot() if part == "model" else model.optimizer_state()

    def _take(self, node: str, message: Message, at: float) -> Replies:
        """Take `message` as `ParameterServer.handle` does; a refused piece may come again."""
        try:
            return self.server.receive(message, at)
        except WireError as error:
            self.seen.refused(message)
            self.server.refuse(node, str(error), at)
            return []

    def _append(self, entry: input_log.Input, line: bytes = b"") -> None:
        if self.journal.is_open:
            self.journal.append(input_log.parts(entry, [line] if line else []))

    def _note(self, line: bytes) -> None:
        """Log a `line` of the run's log that no input gives."""
        self._append(Wrote(self.now), line)

    def _done(self, now: float, work: Callable[[], Replies]) -> Replies:
        """Do the `work` of an input; return its replies as the host's clock has their times."""
        note, self._tail.beside = self._tail.beside, None
        try:
            with self.journal.work():
                replies = work()
        finally:
            self._tail.beside = note
        self.now = now
        if not self.offset:
            return replies
        return [(node, _shifted(reply, self.offset)) for node, reply in replies]

    # -- states ----------------------------------------------------------------------------------

    def _save_if_due(self, now: float) -> None:
        """Save a state if the time has come and the state before is on disk."""
        if not self.journal.ready():
            return
        if self.journal.is_open:
            if self.journal.due:
                self._save(self.journal.number)
        elif self.server.zero is not None and not self._absent:
            at, first = now + self.offset, not self._saved
            assert self._every is not None
            if at - self.server.zero >= self._saved * self._every:
                self._save_at(at)
                if first:
                    self.journal.finish()  # without a state nothing could be recovered

    def _save_at(self, at: float) -> None:
        """Save a state at the time `at` of the run's clock, the next one a multiple of `every`."""
        assert self._every is not None and self.server.zero is not None
        self._saved = int((at - self.server.zero) // self._every) + 1
        self._save(self._saved)

    def _save(self, number: int) -> None:
        """Have the present state written, as the one before the input `number`."""
        self.journal.save(number, self.facts(), self.server.state())

    # -- resuming --------------------------------------------------------------------------------

    def _greet(self, message: Message, now: float) -> Replies:
        """Take a hello of a resumed run; go on when it was the last."""
        if not isinstance(message, Hello):
            return []
        self._absent.discard(message.node)
        self._hellos = [hello for hello in self._hellos if hello.node != message.node]
        self._hellos.append(message)
        if self._absent:
            return []
        self.shift(self.now - now)
        hellos, self._hellos = self._hellos, []
        return [reply for hello in hellos for reply in self.handle(hello.node, hello, now)]

    def shift(self, offset: float) -> None:
        """Set the run's clock ahead of the host's by `offset`, and write that the run goes on."""
        self.offset = offset
        if self.journal.is_open:
            self._append(Shifted(self.now, offset, self.resumes))
        else:  # a crash of the server before the next state would find the clock of the last one
            self._save_at(self.now)
            self.journal.finish()
        self.announce()


class _LoggedModel:
    """The model of a leader, each look at which is an input of the server."""

    def __init__(self, server: DurableServer) -> None:
        self._server = server

    @property
    def version(self) -> int:
        return self._server.version

    def snapshot(self) -> Vector:
        model: Vector = self._server.read("model")
        return model

    def optimizer_state(self) -> OptimizerState:
        state: OptimizerState = self._server.read("optimizer")
        return state


def _shifted(reply: Reply, offset: float) -> Reply:
    """Return `reply` with times on the host's clock, `offset` seconds behind the run's clock."""
    match reply:
        case Begin(zero):
            return Begin(zero - offset)
        case (
            ModelSegment(times=Times(answered, arrived))
            | PatchSegment(times=Times(answered, arrived))
        ):
            times = Times(answered - offset, tuple(at - offset for at in arrived))
            return replace(reply, times=times)
    return reply
