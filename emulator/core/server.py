"""The parameter server without its sockets: a message in, messages out.

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
    Patch,
    Pull,
    Reply,
    Score,
    Update,
)
from .parameters import State
from .plan import Stop
from .pulled_versions import PulledVersions

GATHERING = 120.0
"""Seconds that the members have to say hello."""

ENDING = 60.0
"""Seconds that the evaluator has for the last model, and then for those that still wait."""

Replies: TypeAlias = list[tuple[str, Reply]]


@dataclass(frozen=True)
class Ended:
    """Why a run came to its end, and at which reading of the clock."""

    reason: str
    at: float
    detail: str = ""


class ParameterServer:
    """Holds the model, applies pushes, and answers pulls; never waits for an evaluation."""

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
        self._hellos: dict[str, tuple[float, int]] = {}  # until all are there
        self._parked: dict[str, Pull] = {}  # pulls that have no answer yet
        self._releases = synchronizer.releases  # when all of them were last looked at
        self._pulled = PulledVersions()
        self._evaluations = Evaluations(every, parameters.theta.nbytes)
        self._evaluated: Snapshot | None = None  # what the evaluator was sent and has not scored
        self._diverged: set[str] = set()  # workers whose last gradient was not finite

    @property
    def zero(self) -> float | None:
        """When the run began, on the driver's clock; None before."""
        return self._ledger.zero

    @property
    def version(self) -> int:
        return self.parameters.version

    @property
    def missing(self) -> list[str]:
        """Members that have not said hello."""
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
        """Take one message; return what to send, and to whom. A WireError refuses it, harmlessly.

        The driver vouches that `message.node` is who sent it.
        """
        match message:
            case Begin() | ModelReply() | Patch() | Bye():
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
        """Note a message that could not be taken."""
        if self.zero is not None:
            self._ledger.refused(node, reason, now)

    def unsent(self, node: str, reply: Reply, now: float) -> None:
        """Note a reply of the server's own that could not leave: the node is out of reach."""
        if self.zero is not None:
            self._ledger.unsent(node, reply, now)

    def deadline(self) -> float | None:
        """When `tick` wants to be called, on the driver's clock; None: not before a message."""
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
        """Do what is due by `now`."""
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
        """Bring the run to its end at once, without a last evaluation."""
        self.ended = self.ended or Ended(reason, now, detail)
        return self._close()

    def pulled(self) -> Vector:
        """The model of this version as workers that pull it hold it, read-only; for all the same.

        A snapshot: who only needs what travels does not ask for it.
        """
        rounded = self._pulls.rounded(self.parameters.theta)
        return self.parameters.snapshot() if rounded is None else rounded

    # -- phases --------------------------------------------------------------------------------

    def _members(self) -> set[str]:
        return {*self._workers, *filter(None, [self._evaluator])}

    def _greet(self, hello: Hello, now: float) -> Replies:
        self._free(hello.node)  # what it computed on is gone
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
        """Over, once: the log's last line, and a word to everyone."""
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
        """A node can have computed on one model only: the one it was sent last."""
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
        """Keep the model of this version for the evaluator, if it is to be measured."""
        if self._evaluator is not None:
            self._evaluations.reach(self.version, lambda: self._snapshot(now))

    def _snapshot(self, now: float) -> Snapshot:
        theta = self.parameters.snapshot()
        return Snapshot(self.version, theta, now, self._ledger.push_bytes)

    def _weights(self, arrivals: list[Arrival]) -> list[float] | None:
        weights = self._synchronizer.weights
        return [weights[arrival.update.node] for arrival in arrivals] if weights else None

    def _doubt(self, node: str, now: float) -> None:
        """One worker may be wrong, or lie; when most of them say so the model is lost."""
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
        """Answer those that need wait no longer: workers for the next turn, or all for the end."""
        if self._releases == self._synchronizer.releases and not self.ended:
            evaluator = self._parked.get(self._evaluator or "")
            return self._release([evaluator], now) if evaluator else []
        self._releases = self._synchronizer.releases
        return self._release(list(self._parked.values()), now)

    def _release(self, pulls: Iterable[Pull], now: float) -> Replies:
        """Answer those that need not wait; close once nothing is left to wait for."""
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
        """Answer the evaluator with the server's model itself, however workers get theirs."""
        snapshot = self._evaluated = self._evaluations.next(pull.after)
        assert snapshot is not None
        return ModelReply(pull.ticket, snapshot.version, snapshot.theta)

    def _model(self, pull: Pull) -> ModelReply | Patch:
        """Answer a worker: with the model, or with a patch to the version that it holds."""
        coded = self._pulls.answer(self.parameters.theta, pull.held)
        if coded is None:
            return ModelReply(pull.ticket, self.version, self.parameters.snapshot())
        return Patch(pull.ticket, self.version, coded.base, coded.frames)

    def _free(self, node: str) -> None:
        """Note that whatever the node was sent last is used up."""
        if node == self._evaluator:
            self._evaluated = None
        else:
            self._pulled.end(node)
