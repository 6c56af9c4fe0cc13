"""The parameter server's protocol, without sockets: a message in, messages out.

Three phases. *Gathering*: members say hello, nobody gets the model, so that the run's time
counts from the same instant for all. *Running*: pushes are applied as the synchronization
says. *Ending*: the stop condition holds, no push is taken any more, and the evaluator gets
the last model to measure. Then it is *over*.

Whoever drives it passes `now`, and asks `deadline()` when it wants to be called again.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from ..codecs.base import Codec
from ..errors import WireError
from ..layout import Layout
from ..log.writing import RunLog
from ..pulls import Pulls, WholeModel
from ..synchronization.base import Synchronizer
from ..vectors import Vector
from .evaluations import Evaluations, Snapshot
from .ledger import Arrival, Ledger
from .messages import (
    Begin,
    Bye,
    Diverged,
    Hello,
    Message,
    ModelReply,
    ModelSegment,
    Patch,
    PatchSegment,
    Pull,
    Reply,
    Score,
    Update,
)
from .parameters import State
from .plan import Stop
from .pulled_versions import PulledVersions

GATHERING = 120.0
"""Seconds within which every member must say hello."""

ENDING = 60.0
"""Seconds that the evaluator has to measure the last model and the snapshots that still wait."""

Replies: TypeAlias = list[tuple[str, Reply]]


@dataclass(frozen=True)
class Ended:
    """The reason and the time of a run's end; `at` is a reading of the driver's clock."""

    reason: str
    at: float
    detail: str = ""


class ParameterServer:
    """A server that applies pushes to the model and answers pulls, and waits for no evaluation."""

    def __init__(
        self,
        parameters: State,
        *,
        layout: Layout,
        codec: Codec,
        synchronizer: Synchronizer[Arrival],
        workers: Iterable[str],
        evaluator: str | None,
        stop: Stop,
        log: RunLog,
        now: float,
        every: int = 1,
        encrypted: bool = False,
        pulls: Pulls | None = None,
        gathering: float | None = GATHERING,
    ) -> None:
        """Have the `evaluator` measure the model at multiples of `every` updates.

        Without `pulls`, models travel as they are. The members have `gathering` seconds from
        `now` to say hello; None: as long as the driver lets them.
        """
        self.parameters = parameters
        self.ended: Ended | None = None
        self.over = False
        self.layout = layout
        self._codec, self._synchronizer = codec, synchronizer
        self._pulls = pulls or WholeModel().start(layout)
        self._workers = frozenset(workers)
        self._evaluator = evaluator
        self._stop, self._ledger = stop, Ledger(log, codec, layout, encrypted)
        self._gather_until = None if gathering is None else now + gathering
        self._missing = self._members()
        self._hellos: dict[
            str, tuple[float, int]
        ] = {}  # time and incarnation, by member; empty once the run has begun
        self._parked: dict[str, Pull] = {}  # pulls without an answer, by node
        self._releases = synchronizer.releases  # at the last look at all parked pulls
        self._pulled = PulledVersions()
        self._evaluations = Evaluations(every, parameters.theta.nbytes)
        self._evaluated: Snapshot | None = None  # sent to the evaluator, and not scored yet
        self._diverged: set[str] = set()  # workers whose last gradient was not finite

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
        return sorted(self._missing)

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

        Raises a WireError, and changes nothing, for a message to refuse. The driver has checked
        `message.node` against the sender.
        """
        match message:
            case Begin() | ModelReply() | ModelSegment() | Patch() | PatchSegment() | Bye():
                raise WireError(f"a server does not take a {type(message).__name__}")
            case _ if message.node not in self._workers and message.node != self._evaluator:
                raise WireError(f"{message.node!r} is not a member of this run")
            case Hello():
                return self._greet(message, now)
            case _ if self.zero is None:
                raise WireError(f"{message.node} has not said hello")
            case Pull() if message.held is not None and message.held > self.version:
                raise WireError(f"{message.node} cannot hold version {message.held}")
            case Pull():
                self._parked[message.node] = message
                return self._release([message], now)
            case Update():
                self._take(message, now)
            case Diverged(node, version):
                self._expect(node, version)
                self._doubt(node, now)
                self._step(self._synchronizer.failed(node, now), now)
            case Score():
                self._score(message, now)
        return self._advanced(now)

    def refuse(self, node: str, reason: str, now: float) -> None:
        """Record that a message of `node` was refused for `reason`."""
        if self.zero is not None:
            self._ledger.refused(node, reason, now)

    def unsent(self, node: str, reply: Reply, now: float) -> None:
        """Record that `reply` could not leave, as `node` is out of reach."""
        if self.zero is not None:
            self._ledger.unsent(node, reply, now)

    def deadline(self) -> float | None:
        """Return the time of the next `tick` on the driver's clock, or None before a message."""
        if self.over:
            return None
        if self.zero is None:
            return self._gather_until
        if self.ended:
            return self.ended.at + ENDING
        limit = None if self._stop.time is None else self.zero + self._stop.time
        times = (limit, self._synchronizer.deadline())
        return min((time for time in times if time is not None), default=None)

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
        else:
            self._step(self._synchronizer.tick(now), now)
        return self._advanced(now)

    def end(self, reason: str, now: float, detail: str = "") -> Replies:
        """End the run at once, without a last evaluation; return the replies."""
        self.ended = self.ended or Ended(reason, now, detail)
        return self._close()

    def pulled(self) -> Vector:
        """Return the model as every worker that pulls this version holds it: f32[N], read-only.

        Drivers call this in virtual time only, where a device needs the model beside the message.
        """
        rounded = self._pulls.rounded(self.parameters.theta)
        return self.parameters.snapshot() if rounded is None else rounded

    # -- phases --------------------------------------------------------------------------------

    def _members(self) -> set[str]:
        return {*self._workers, *filter(None, [self._evaluator])}

    def _greet(self, hello: Hello, now: float) -> Replies:
        self._free(hello.node)  # a crash lost the model that the node computed on
        self._parked.pop(hello.node, None)
        if self.zero is not None:
            self._ledger.hello(hello.node, hello.incarnation, now)
            return [(hello.node, Bye() if self.over else Begin(self.zero))]
        self._hellos[hello.node] = (now, hello.incarnation)
        self._missing.discard(hello.node)
        if self._missing:
            return []
        self._ledger.zero = now
        for node, (at, incarnation) in self._hellos.items():
            self._ledger.hello(node, incarnation, at)
        self._hellos, self._missing = {}, set()
        self._ledger.start(len(self._workers), now)
        self._synchronizer.begin(now)
        self._keep(now)
        begin = Begin(now)
        return [(node, begin) for node in sorted(self._members())]

    def _end(self, reason: str, now: float, detail: str = "") -> None:
        if self.ended is None:
            self.ended = Ended(reason, now, detail)
            if self._evaluator is not None:
                self._evaluations.finish(self.version, lambda: self._snapshot(now))

    def _close(self) -> Replies:
        """Write the last records and say bye to every member; do nothing when called again."""
        if self.over or self.ended is None:
            return []
        self.over = True
        if self.zero is None:
            self._ledger.zero = self.ended.at
        ended = self.ended
        self._ledger.close(ended.at, self._evaluations.unmeasured, ended.reason, ended.detail)
        return [(node, Bye()) for node in sorted(self._members() - self._missing)]

    # -- pushes and scores ---------------------------------------------------------------------

    def _take(self, update: Update, now: float) -> None:
        self._expect(update.node, update.version)
        if self.ended:
            return
        if update.version < self.parameters.oldest:
            raise WireError(f"version {update.version} is older than the history kept")
        gradient = self._codec.decode(update.frames, self.layout)
        self._free(update.node)  # one push for each model
        arrival = Arrival(update, gradient)
        self._step(self._synchronizer.arrive(update.node, arrival, now), now)

    def _expect(self, node: str, version: int) -> None:
        """Raise a WireError unless `version` is the version that `node` was sent last."""
        sent = self._pulled.version(node)
        if node == self._evaluator:
            sent = self._evaluated.version if self._evaluated else None
        if version != sent:
            raise WireError(f"{node} was last sent version {sent}, it cannot know {version}")

    def _step(self, arrivals: list[Arrival] | None, now: float) -> None:
        if not arrivals or self.ended:
            return
        before = self.version
        steps = [(arrival.gradient, arrival.update.version) for arrival in arrivals]
        divisors = self.parameters.apply(steps, self._weights(arrivals))
        self._pulls.changed([gradient for gradient, _ in steps], self.parameters.everywhere)
        self._ledger.step(arrivals, divisors, before, now)
        self._diverged.difference_update(arrival.update.node for arrival in arrivals)
        oldest = self._pulled.oldest
        self.parameters.forget(self.version if oldest is None else oldest, self._pulled)
        if self._stop.updates is not None and self.version >= self._stop.updates:
            self._end("updates", now)
        else:
            self._keep(now)

    def _keep(self, now: float) -> None:
        """Keep a snapshot of this version for the evaluator if the version is due."""
        if self._evaluator is not None:
            self._evaluations.reach(self.version, lambda: self._snapshot(now))

    def _snapshot(self, now: float) -> Snapshot:
        theta = self.parameters.snapshot()
        return Snapshot(self.version, theta, now, self._ledger.push_bytes)

    def _weights(self, arrivals: list[Arrival]) -> list[float] | None:
        weights = self._synchronizer.weights
        return [weights[arrival.update.node] for arrival in arrivals] if weights else None

    def _doubt(self, node: str, now: float) -> None:
        """Record that `node` diverged; end the run when most workers have.

        A single worker may be wrong, or lie.
        """
        self._diverged.add(node)
        self._ledger.diverged(node, self.version, now)
        if 2 * len(self._diverged) > len(self._workers):
            self._end("diverged", now, "most workers' gradients are not finite")

    def _score(self, score: Score, now: float) -> None:
        if score.node != self._evaluator:
            raise WireError(f"{score.node} is not the evaluator")
        self._expect(score.node, score.version)
        measured, self._evaluated = self._evaluated, None
        self._evaluations.score(score.version)
        if measured is not None:
            self._ledger.score(score, measured, now)
        if self._stop.accuracy is not None and score.accuracy >= self._stop.accuracy:
            self._end("accuracy", now)

    # -- pulls ---------------------------------------------------------------------------------

    def _advanced(self, now: float) -> Replies:
        """Answer the pulls that need not wait any more: after a new turn, or at the end, all."""
        if self._releases == self._synchronizer.releases and not self.ended:
            evaluator = self._parked.get(self._evaluator or "")
            return self._release([evaluator], now) if evaluator else []
        self._releases = self._synchronizer.releases
        return self._release(list(self._parked.values()), now)

    def _release(self, pulls: Iterable[Pull], now: float) -> Replies:
        """Answer the `pulls` that need not wait; close the run once no snapshot waits."""
        if self.ended and not self._evaluations.waiting:
            return self._close()
        return [(pull.node, self._answer(pull, now)) for pull in pulls if self._answers(pull)]

    def _answers(self, pull: Pull) -> bool:
        if pull.node == self._evaluator:
            return self._evaluations.next(pull.after) is not None
        return not self.ended and not self._synchronizer.holds(pull.node)

    def _answer(self, pull: Pull, now: float) -> ModelReply | Patch:
        del self._parked[pull.node]
        if pull.node == self._evaluator:
            model: ModelReply | Patch = self._measurable(pull)
        else:
            self._pulled.begin(pull.node, self.version)
            self._synchronizer.sent(pull.node)
            model = self._model(pull)
        self._ledger.pull(pull.node, model, now)
        return model

    def _measurable(self, pull: Pull) -> ModelReply:
        """Return the evaluator's next snapshot, never encoded as the pulls of workers may be."""
        snapshot = self._evaluated = self._evaluations.next(pull.after)
        assert snapshot is not None
        return ModelReply(pull.ticket, snapshot.version, snapshot.theta)

    def _model(self, pull: Pull) -> ModelReply | Patch:
        """Return the reply to a worker: the model, or a patch to the version held by the worker."""
        coded = self._pulls.answer(self.parameters.theta, pull.held)
        if coded is None:
            return ModelReply(pull.ticket, self.version, self.parameters.snapshot())
        return Patch(pull.ticket, self.version, coded.base, coded.frames)

    def _free(self, node: str) -> None:
        """Forget the version sent to `node` last: the node has used the model up."""
        if node == self._evaluator:
            self._evaluated = None
        else:
            self._pulled.end(node)
