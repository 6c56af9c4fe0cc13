"""The server's exchange of activations: in from devices, through the server's layers, and back.

A device has four phases: it computes activations on the model that it was sent last, its
activations wait for the rest of its group, its logits are out (where labels stay on devices), and
it has its gradient and may push. A message of another phase is refused and changes nothing. A new
pull or hello of the device forgets the phase, so of each device at most one mini-batch is kept.
A device that was given up with its logits has a fifth phase: its late answer is of no use, and is
answered without a gradient, so that the device pulls again at once instead of after a time-out.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from ...errors import WireError
from ...layout import Layout
from ...learning.learners.base import ServerPart
from ...plugins.stateful import Held, Stateful
from .. import wire
from ..plan import Cut
from ..server.parameters import State
from ..wire.messages import (
    ActivationGradient,
    Activations,
    CutReply,
    CutRequest,
    LogitGradient,
    Message,
)
from ..zmtp import PLAIN, Form
from .activation_gate import ActivationGate
from .activation_values import ActivationCoding, CutChecks, ExampleSizes, SentActivations
from .logit_rounds import LogitRound, LogitRounds
from .server_layers import LossAnswer, PassResult, ServerLayers

PATIENCE = 60.0
"""Seconds that a device has to answer its logits where the synchronization names no patience."""

_COMPUTES, _WAITS, _ANSWERS, _PUSHES = "computes", "waits for its group", "has logits", "may push"
_LATE = "was given up with its logits"


class _Phase(Held, msgspec.Struct):
    """State of a device from the answer to a pull until the push."""

    ticket: int
    name: str = _COMPUTES


class Passed(NamedTuple):
    """A device's pass through the server's layers, as the log has it."""

    node: str
    version: int
    server_version: int
    staleness: int
    rows: int
    up: int
    down: int
    loss: float


class CutStep(NamedTuple):
    """Replies to the devices of a group, and a record of each complete pass."""

    replies: list[tuple[str, CutReply]]
    passed: list[Passed]
    dismissed: Sequence[tuple[str, CutReply]] = ()
    """Replies to devices whose mini-batches are lost."""


_NOTHING = CutStep([], [])


@dataclass(frozen=True)
class CutPlan:
    """The part of a run's plan that says how activations cross the cut."""

    cut: Cut
    sizes: ExampleSizes
    layout: Layout
    """Layout of the server's layers."""
    batch_of: Callable[[str], int]
    """Returns the number of examples in a device's mini-batches."""
    groups: Iterable[Collection[str]] = ()
    """Groups of devices that pass together. Devices without a group pass at once."""
    patience: float = PATIENCE
    """Seconds after which the missing devices of a group are given up."""
    by_name: bool = False
    """Whether the gradients of a step are summed in the order of the devices' names."""
    form: Form = PLAIN


class CutExchange(Stateful):
    """Takes activations and gradients by logits, and makes the steps of the server's layers."""

    STATE = ("parameters", "_gate", "_rounds", "_given_up", "_phases")

    def __init__(
        self,
        plan: CutPlan,
        part: ServerPart,
        parameters: State,
        coding: ActivationCoding | None = None,
    ) -> None:
        """Keep the `parameters` of the server's layers, which `part` computes.

        `coding` takes the place of the cut's coding.
        """
        self.parameters, self.layout = parameters, plan.layout
        coding = coding or ActivationCoding(plan.cut.values)
        self._labels_sent = plan.cut.labels == "sent"
        self._checks = CutChecks(plan.sizes, coding, labels_sent=self._labels_sent)
        self._layers = ServerLayers(parameters, part, coding)
        self._gate: ActivationGate[SentActivations] = ActivationGate(plan.groups, plan.patience)
        self._rounds = LogitRounds(plan.patience)
        self._given_up: list[str] = []  # with their logits, since the last `take_given_up`
        self._batch_of, self._by_name = plan.batch_of, plan.by_name
        self._form = plan.form
        self._phases: dict[str, _Phase] = {}  # by device that has a model

    # -- phases of devices -----------------------------------------------------------------------

    def begin(self, node: str, ticket: int) -> None:
        """Expect the activations of `node`, whose pull with `ticket` was answered."""
        self._phases[node] = _Phase(ticket)

    def forget(self, node: str, now: float) -> None:
        """Forget the phase and the activations of `node` after a crash, a new pull, or a push."""
        if self._phases.pop(node, None):
            self._gate.withdraw(node)
            self._rounds.withdraw(node, now)

    def departed(self, node: str, now: float) -> CutStep:
        """Wait no more for `node`, which has said goodbye; return replies as `take`."""
        self.forget(node, now)
        group = self._gate.departed(node)
        return self._pass(group, now) if group else _NOTHING

    def returned(self, node: str) -> None:
        """Wait for `node` again, which has said hello after a goodbye."""
        self._gate.returned(node)

    def allow_push(self, node: str) -> None:
        """Raise a WireError unless `node` has its activation gradient."""
        phase = self._phases.get(node)
        if phase is None or phase.name != _PUSHES:
            raise WireError(f"{node} cannot push: it has no activation gradient")

    def stepped(self, nodes: Collection[str]) -> None:
        """Note a step of the pushes of `nodes`: the gate waits for them, and not for the rest of
        their group."""
        self._gate.expect(nodes)

    def close(self) -> None:
        """Forget all activations: the run takes no more."""
        self._phases.clear()
        self._gate.clear()
        self._rounds.clear()

    # -- messages and time -----------------------------------------------------------------------

    def take(self, message: CutRequest, now: float) -> CutStep:
        """Take `message`; return the replies to all devices of the group if the group may pass.

        Raises a WireError to refuse `message`, which changes nothing.
        """
        if isinstance(message, Activations):
            return self._activations(message, now)
        return self._logit_gradient(message)

    def deadline(self) -> float | None:
        """Return the time at which to call `tick`; None if nothing is waited for."""
        times = (self._gate.deadline(), self._rounds.deadline())
        return min((time for time in times if time is not None), default=None)

    def tick(self, now: float) -> CutStep:
        """Give up devices that have been absent for too long; return replies as `take`."""
        if group := self._gate.tick(now):
            return self._pass(group, now)
        if due := self._rounds.tick(now):
            finished, late = due
            for node in late:
                self._phases[node].name = _LATE
            self._given_up += late
            return self._backward(finished) if finished.group else _NOTHING
        return _NOTHING

    def take_given_up(self) -> list[str]:
        """Return the devices that `tick` has given up since the last call."""
        late, self._given_up = self._given_up, []
        return [*self._gate.take_given_up(), *late]

    def _activations(self, message: Activations, now: float) -> CutStep:
        phase = self._expect(message, _COMPUTES)
        rows, size = self._batch_of(message.node), self._size(message)
        sent = self._checks.activations(message, rows, size)
        phase.name = _WAITS
        group = self._gate.arrive(sent.node, sent, now)
        return self._pass(group, now) if group else _NOTHING

    def _logit_gradient(self, message: LogitGradient) -> CutStep:
        phase = self._phases.get(message.node)
        if phase == _Phase(message.ticket, _LATE):
            del self._phases[message.node]
            lost = ActivationGradient(message.ticket, message.loss, b"")
            return CutStep([], [], [(message.node, lost)])
        self._expect(message, _ANSWERS)
        rows = self._rounds.sent(message.node).rows
        gradient = self._checks.logit_gradient(message, rows)
        answer = LossAnswer(message.loss, gradient, self._size(message))
        finished = self._rounds.answer(message.node, answer)
        return self._backward(finished) if finished else _NOTHING

    def _expect(self, message: CutRequest, name: str) -> _Phase:
        """Return the phase of the sender. Raises a WireError unless `message` is of this phase."""
        phase = self._phases.get(message.node)
        if phase is None or phase.ticket != message.ticket:
            last = phase.ticket if phase else None
            raise WireError(f"values for pull {message.ticket}, but {last} was answered last")
        if phase.name != name:
            raise WireError(f"a {type(message).__name__}, but {message.node} {phase.name}")
        return phase

    # -- passes ----------------------------------------------------------------------------------

    def _pass(self, group: list[SentActivations], now: float) -> CutStep:
        """Let `group` pass through the server's layers, or forwards if labels are on devices."""
        if self._by_name:
            # a sum of floats depends on the order, and the order of arrival on transport
            group = sorted(group, key=lambda sent: sent.node)
        if self._labels_sent:
            return self._answered(self._layers.train(group))
        passes, logits = self._layers.forward(group)
        replies = [(sent.node, answer) for sent, answer in zip(group, logits, strict=True)]
        for node, _ in replies:
            self._phases[node].name = _ANSWERS
        sizes = {node: self._size(answer) for node, answer in replies}
        self._rounds.begin(group, passes, sizes, now)
        return CutStep([*replies], [])

    def _backward(self, finished: LogitRound) -> CutStep:
        """Let the devices of a round pass backwards."""
        answers = finished.answers
        results = self._layers.backward(finished.group, answers, finished.passes)
        return self._answered(results, finished)

    def _answered(self, results: Iterable[PassResult], logits: LogitRound | None = None) -> CutStep:
        """Return the gradients for devices, and the records of their passes.

        `logits` is the round in which the devices had logits before, if they had.
        """
        replies: list[tuple[str, CutReply]] = []
        passed = []
        for sent, answer, version, staleness in results:
            node, up, down = sent.node, sent.size, self._size(answer)
            if logits:
                up, down = up + logits.answers[node].size, down + logits.sizes[node]
            self._phases[node].name = _PUSHES
            replies.append((node, answer))
            sizes = (sent.rows, up, down)
            passed.append(Passed(node, sent.version, version, staleness, *sizes, answer.loss))
        return CutStep(replies, passed)

    def _size(self, message: Message) -> int:
        return wire.size(message, self._form)
