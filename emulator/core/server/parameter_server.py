"""The parameter server's protocol, without sockets: a message in, messages out.

Three phases. *Gathering*: members say hello, nobody gets the model, so that the run's time
counts from the same instant for all. *Running*: pushes are applied as the synchronization
says. *Ending*: the stop condition holds, no push is taken any more, and the evaluator gets
the last model to measure. Then it is *over*.

Whoever drives it passes `now`, and asks `deadline()` when it wants to be called again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from ...errors import WireError
from ...layout import Layout
from ...log.lines import RunLog
from ...plugins.stateful import Held, Stateful
from ...vectors import Vector
from ...world.roles import CONDUCTOR
from ..plan import Plan
from ..wire.messages import (
    Activations,
    Again,
    Begin,
    Bye,
    CutRequest,
    Diverged,
    Hello,
    Leave,
    LogitGradient,
    Message,
    Pull,
    Replies,
    Request,
    Score,
    Update,
    UpdateSegment,
)
from .ledger import Arrival, Ledger, UnsentAnswer
from .parameters import JoinedState, Saved, State
from .pull_queue import PullQueue
from .refusal_counts import Quarantine
from .snapshot_exchange import Keep, SnapshotExchange
from .worker_exchanges import ServerParts, WorkerExchanges, earliest

GATHERING = 120.0
"""Seconds within which every member must say hello."""

BURST = 8
"""Boots of a member that come one after the other and are all on record, however fast."""

ENDING = 60.0
"""Seconds that the evaluator has to measure the last model and the snapshots that still wait."""


class Ended(Held, msgspec.Struct, frozen=True):
    """The reason and the time of a run's end; `at` is a reading of the driver's clock."""

    reason: str
    at: float
    detail: str = ""


@dataclass(frozen=True)
class Driver:
    """The manner in which a runtime drives a server."""

    gathering: float | None = GATHERING
    """Seconds that the members have to say hello; None: as long as the runtime lets them."""
    pause: float = 0.0
    """A member's hellos, and its goodbyes, count as refused beyond `BURST` at once and one in
    `pause` seconds from then on. 0 where members are no strangers."""
    keep: Keep | None = None
    """Takes the versions that are due, of a run without an evaluator."""


VIRTUAL = Driver()
"""Members keep the protocol, and no version is stored."""


class ParameterServer(Stateful):
    """A server that applies pushes to the model and answers pulls, and waits for no evaluation."""

    STATE = (
        *("parameters", "ended", "over", "_members", "_ledger", "_exchanges", "_snapshots"),
        *("_queue", "_quarantine", "_diverged", "_doubted", "_hellos", "_goodbyes"),
    )

    def __init__(
        self,
        plan: Plan,
        parameters: State,
        parts: ServerParts,
        log: RunLog,
        now: float,
        driver: Driver = VIRTUAL,
    ) -> None:
        """Hold the `parameters`, of the devices' part of the model if it is cut; begin at `now`.

        `log` takes the records, and `driver` says how the server is driven.
        """
        cut, layout = parts.cut, parts.layout
        self.parameters = parameters
        self.model: Saved = JoinedState(parameters, cut.parameters) if cut else parameters
        """The whole model, as it is measured and saved."""
        self.ended: Ended | None = None
        self.over = False
        self.layout = layout
        self.form = plan.worker.form
        """Form of the messages of the run."""
        self.whole = Layout((*layout.variables, *cut.layout.variables)) if cut else layout
        """Layout of `model`."""
        self._stop = plan.stop
        self._members = Membership(plan.workers, plan.evaluator, conducted=plan.conducted)
        self._ledger = Ledger(log, parts.codec, layout, plan.worker.form)
        self._synchronizer = parts.synchronizer
        self._exchanges = WorkerExchanges(parameters, parts, self._ledger, by_name=plan.by_name)
        self._gather_until = None if driver.gathering is None else now + driver.gathering
        sizes = plan.every, 4 * self.whole.size
        self._snapshots = SnapshotExchange(
            plan.evaluator, *sizes, self.model, self._ledger, driver.keep
        )
        self._queue = PullQueue(self._synchronizer, self._exchanges, self._snapshots, self._ledger)
        self._quarantine = Quarantine(plan.quarantine)
        self._diverged: set[str] = set()  # workers whose last gradient was not finite
        self._doubted: dict[str, int] = {}  # version of each worker's last record of such a one
        self._pause = driver.pause
        self._hastily = f"more often than every {driver.pause:g} s"
        # with a `pause`, when each member may fill a whole `BURST` again
        self._hellos: dict[str, float] = {}
        self._goodbyes: dict[str, float] = {}

    @property
    def zero(self) -> float | None:
        """Reading of the driver's clock when the run began; None before."""
        return self._ledger.zero

    @property
    def version(self) -> int:
        return self.parameters.version

    @property
    def missing(self) -> list[str]:
        """Members that have not said hello, sorted."""
        return self._members.missing

    # -- what drivers call ---------------------------------------------------------------------

    def handle(self, node: str, message: Message, now: float) -> Replies:
        """Take one `message` of `node` as `receive` does; count a refusal in the log.

        A refused message has no replies.
        """
        try:
            return self.receive(message, now)
        except WireError as error:
            self.refuse(node, str(error), now)
            return []

    def receive(self, message: Message, now: float) -> Replies:
        """Take `message`; return pairs of receiver and reply.

        Raises a WireError for a message to refuse, which changes nothing, but may drop the sender's
        pieces of an update. The driver has checked `message.node` against the sender.
        """
        if not isinstance(message, Request):
            raise WireError(f"a server does not take a {type(message).__name__}")
        match message:
            case _ if message.node not in self._members:
                raise WireError(f"{message.node!r} is not a member of this run")
            case Hello() if message.node == CONDUCTOR:
                return self._begin(now) if self._members.greet(message, now) else []
            case Hello():
                return self._greet(message, now)
            case _ if self.zero is None:
                raise WireError(f"{message.node} has not said hello")
            case _ if self._quarantine.holds(message.node):
                return []
            case _ if message.node in self._members.away:
                raise WireError(f"{message.node} has said goodbye, and no hello since")
            case Leave(node):
                return [*self._depart(node, now), *self._advanced(now)]
            case Pull(node):
                self._queue.add(message, now)
                if not self._welcome(node, now):
                    return self._release([message], now)
                return [*self._release([message], now), *self._advanced(now)]
            case Update() | UpdateSegment():
                self._exchanges.expect(message)
                if not self.ended:
                    self._step(self._exchanges.take(message, now), now)
            case Diverged(node):
                self._exchanges.expect(message)
                self._doubt(message, now)
                self._step(self._exchanges.failed(node, now), now)
            case Score():
                self._score(message, now)
            case Activations() | LogitGradient():
                return [*self._cross(message, now), *self._advanced(now)]
        return self._advanced(now)

    def refuse(self, node: str, reason: str, now: float) -> None:
        """Record that a message of `node` was refused for `reason`."""
        if self.zero is not None:
            self._ledger.refused(node, reason, now)
            if node in self._members.workers and not self.ended:
                self._quarantine.refused(node, now)

    def hears(self, node: str) -> bool:
        """Return whether the messages of `node` are heard: it is not in quarantine."""
        return not self._quarantine.holds(node)

    def unsent(self, unsent: Replies, now: float) -> None:
        """Record that the replies of `unsent` could not leave, as their receivers are out of
        reach."""
        self.record_unsent(self.unsent_answers(unsent), now)

    def unsent_answers(self, unsent: Replies) -> tuple[UnsentAnswer, ...]:
        """Return the answers in `unsent` that are to be recorded: none before the run's zero.

        An `Again` needs no record: its receiver asks again over its next connection by itself.
        """
        if self.zero is None:
            return ()
        lost: Replies = [(node, reply) for node, reply in unsent if not isinstance(reply, Again)]
        return tuple(self._ledger.unsent_answers(lost))

    def record_unsent(self, answers: Iterable[UnsentAnswer], now: float) -> None:
        """Record that the `answers` could not leave."""
        self._ledger.unsent(answers, now)

    def deadline(self) -> float | None:
        """Return the time of the next `tick` on the driver's clock, or None before a message."""
        if self.over:
            return None
        if self.zero is None:
            return self._gather_until
        if self.ended:
            return self.ended.at + ENDING
        limit = None if self._stop.time is None else self.zero + self._stop.time
        return earliest(limit, self._exchanges.deadline(), self._quarantine.deadline())

    def tick(self, now: float) -> Replies:
        """Do the work due by `now`; return pairs of receiver and reply."""
        due = self.deadline()
        if due is None or now < due:
            return []
        if self.zero is None:
            return self.end("failed", now, f"no hello from {', '.join(self.missing)}")
        if self.ended:
            return self._close()
        if self._stop.time is not None and now >= self.zero + self._stop.time:
            self._end("time", now)
            return self._advanced(now)
        replies = self._turn_quarantines(now)
        waited, arrivals = self._exchanges.tick(now)
        self._step(arrivals, now)
        return [*replies, *waited, *self._advanced(now)]

    def end(self, reason: str, now: float, detail: str = "") -> Replies:
        """End the run at once, and return the replies.

        The last model is measured only if that comes after the run.
        """
        if self._snapshots.later and self.zero is not None and not self.ended:
            self._snapshots.finish(now)
        self.ended = self.ended or Ended(reason, now, detail)
        self._exchanges.close()
        return self._close()

    def pulled(self) -> Vector:
        """Return the model as every worker that pulls this version holds it: f32[N], read-only.

        Of a cut model it is the devices' part. Drivers call this in virtual time only, where a
        device needs the model beside the message.
        """
        return self._exchanges.held()

    def applied(self) -> dict[str, int]:
        """Return the number of pushes with a ticket that were applied, by node."""
        return self._ledger.applied()

    def recover(self, booked: Mapping[str, int], kept: dict[str, Any]) -> None:
        """Book the bytes of no push twice that came back with a state, as `Ledger.recover`."""
        self._ledger.recover(booked, kept)

    # -- phases --------------------------------------------------------------------------------

    def _greet(self, hello: Hello, now: float) -> Replies:
        if hello.node == self._snapshots.evaluator:
            self._snapshots.forget()
        else:
            self._exchanges.lost(hello.node, now)
        self._queue.forget(hello.node)
        if self.zero is not None:
            if self._hasty(hello.node, self._hellos, now):
                self.refuse(hello.node, f"said hello {self._hastily}", now)
            else:
                self._ledger.hello(hello.node, hello.incarnation, now)
            if hello.node in self._members.away:
                self._members.away.discard(hello.node)
                if not self._quarantine.holds(hello.node):
                    self._exchanges.returned(hello.node, now)
            return [(hello.node, Bye() if self.over else Begin(self.zero))]
        return self._begin(now) if self._members.greet(hello, now) else []

    def _begin(self, now: float) -> Replies:
        """Begin the run, as no member is missing any more; return the members' replies."""
        if self.zero is not None:
            return []
        self._ledger.zero = now
        for node, (at, incarnation) in self._members.take_hellos().items():
            self._ledger.hello(node, incarnation, at)
        self._ledger.start(len(self._members.workers), now)
        self._synchronizer.begin(now)
        self._snapshots.reach(now)
        begin = Begin(now)
        return [(node, begin) for node in self._members.names]

    def _depart(self, node: str, now: float) -> Replies:
        """Wait for the device `node` no more; return the replies to devices that waited for it."""
        if node not in self._members.workers:
            raise WireError(f"{node} is no device, and cannot leave")
        self._members.away.add(node)
        if self._hasty(node, self._goodbyes, now):
            self.refuse(node, f"said goodbye {self._hastily}", now)
        else:
            self._ledger.goodbye(node, now)
        return self._abandon(node, now)

    def _hasty(self, node: str, recorded: dict[str, float], now: float) -> bool:
        """Return whether `node` has no event left at `now` of its `BURST`, of which it has another
        one back for each `pause`; else take one, and note in `recorded` when all are back."""
        if self._pause:
            back = max(recorded.get(node, now), now)
            if back - now > (BURST - 1) * self._pause:
                return True
            recorded[node] = back + self._pause
        return False

    def _abandon(self, node: str, now: float) -> Replies:
        """Drop the pull of the device `node`, and let nobody wait for it; return as `_depart`."""
        self._queue.forget(node)
        self._diverged.discard(node)
        replies, arrivals = self._exchanges.departed(node, now)
        if self.ended:
            return []
        self._step(arrivals, now)
        return replies

    def _turn_quarantines(self, now: float) -> Replies:
        """Begin and end the quarantines that are due; return the replies.

        A device whose quarantine has ended is told to ask again, as its question may have been
        dropped. The others wait for it from its next pull on.
        """
        replies: Replies = []
        for node, until in self._quarantine.turns(now):
            self._ledger.quarantine(node, until, now)
            if node in self._members.away:
                continue  # nobody waits for it anyway
            if until is None:
                replies.append((node, Again()))
            else:
                replies += self._abandon(node, now)
        return replies

    def _welcome(self, node: str, now: float) -> bool:
        """Wait for `node` again if it asks for the first time since its quarantine; return whether
        it does."""
        first = self._quarantine.speaks(node) and not self.ended
        if first:
            self._exchanges.returned(node, now)
        return first

    def _end(self, reason: str, now: float, detail: str = "") -> None:
        if self.ended is None:
            self.ended = Ended(reason, now, detail)
            self._exchanges.close()
            self._snapshots.finish(now)

    def _close(self) -> Replies:
        """Write the last records and say bye to every member; do nothing when called again."""
        if self.over or self.ended is None:
            return []
        self.over = True
        if self.zero is None:
            self._ledger.zero = self.ended.at
        ended = self.ended
        unmeasured, left_out = self._snapshots.unmeasured, self._exchanges.left_out()
        self._ledger.close(ended.at, unmeasured, left_out, ended.reason, ended.detail)
        return [(node, Bye()) for node in self._members.present]

    # -- pushes and scores ---------------------------------------------------------------------

    def _cross(self, message: CutRequest, now: float) -> Replies:
        """Take activations or a gradient by logits; return the replies of the server's layers."""
        if isinstance(message, Activations):
            self._exchanges.expect(message)
        if self.ended:
            return []
        replies, arrivals = self._exchanges.cross(message, now)
        self._step(arrivals, now)
        return replies

    def _step(self, arrivals: list[Arrival] | None, now: float) -> None:
        if not arrivals or self.ended:
            return
        self._exchanges.step(arrivals, now)
        self._diverged.difference_update(arrival.update.node for arrival in arrivals)
        if self._stop.updates is not None and self.version >= self._stop.updates:
            self._end("updates", now)
        else:
            self._snapshots.reach(now)

    def _doubt(self, message: Diverged, now: float) -> None:
        """Record that the sender of `message` diverged; end the run when most workers have.

        A single worker may be wrong, or lie.
        """
        node = message.node
        self._diverged.add(node)
        if self._doubted.get(node) == message.version:
            self.refuse(node, f"version {message.version} has diverged again", now)
        else:
            self._doubted[node] = message.version
            self._ledger.diverged(node, self.version, now)
        if 2 * len(self._diverged) > len(self._members.workers):
            self._end("diverged", now, "most workers' gradients are not finite")

    def _score(self, score: Score, now: float) -> None:
        if self._snapshots.repeats(score):
            return
        self._snapshots.score(score, now)
        if (reason := self._stop.reached(score)) is not None:
            self._end(reason, now)

    # -- pulls ---------------------------------------------------------------------------------

    def _advanced(self, now: float) -> Replies:
        """Answer the pulls that need not wait any more."""
        return self._release(self._queue.changed(self.ended is not None), now)

    def _release(self, pulls: Iterable[Pull], now: float) -> Replies:
        """Answer the `pulls` that need not wait; close the run once no snapshot waits."""
        if self.ended and not self._snapshots.waiting:
            return self._close()
        return self._queue.answer(pulls, now, self.ended is not None)


class Chore(Protocol):
    """Work of the driver beside the protocol, as checkpoints, with due times on its clock."""

    def deadline(self) -> float | None:
        """Return the time at which `tick` is due; None: at no time of the chore's own."""

    def tick(self, now: float) -> None:
        """Do the work that is due by `now`. May be called at any time."""


class Membership(Stateful):
    """Gathers the members. The run begins once each of them has said hello."""

    STATE = ("_missing", "_hellos", "away")

    def __init__(
        self, workers: Iterable[str], evaluator: str | None, *, conducted: bool = False
    ) -> None:
        """`conducted` as of a plan: the conductor has to say hello, but it is no member."""
        self.workers = frozenset(workers)
        self.evaluator = evaluator
        self._conductor = CONDUCTOR if conducted else None
        self._missing = {*self.workers, *filter(None, [evaluator, self._conductor])}
        self._hellos: dict[str, tuple[float, int]] = {}
        self.away: set[str] = set()
        """Workers that have said goodbye, and no hello since."""

    @property
    def names(self) -> list[str]:
        """Every member, sorted."""
        return sorted({*self.workers, *filter(None, [self.evaluator])})

    @property
    def missing(self) -> list[str]:
        """Members that have not said hello, sorted."""
        return sorted(self._missing)

    @property
    def present(self) -> list[str]:
        """Members that have said hello, sorted."""
        return [name for name in self.names if name not in self._missing]

    def __contains__(self, name: str) -> bool:
        return name in self.workers or name in (self.evaluator, self._conductor)

    def greet(self, hello: Hello, now: float) -> bool:
        """Note the `hello` of a member; return whether no member is missing any more."""
        if hello.node != self._conductor:
            self._hellos[hello.node] = now, hello.incarnation
        self._missing.discard(hello.node)
        if self._missing:
            return False
        self._missing = set()  # a set that has been emptied keeps its table: 32 MB for a million
        return True

    def take_hellos(self) -> dict[str, tuple[float, int]]:
        """Return time and incarnation of the last hello of each member, and forget them."""
        hellos, self._hellos = self._hellos, {}
        return hellos
