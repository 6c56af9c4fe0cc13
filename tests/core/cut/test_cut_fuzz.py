"""Mutated messages of cut models: the server takes exactly those that it may take.

A model of the protocol, much simpler than the server, foretells for each message whether the server
takes it, and how many mini-batches have moved the server's layers.
"""

import io
import tracemalloc
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np
import pytest

from emulator.codecs import Dense
from emulator.core import wire
from emulator.core.cut.activation_values import ActivationCoding, ExampleSizes
from emulator.core.cut.cut_exchange import CutExchange, CutPlan
from emulator.core.plan import Cut
from emulator.core.server.parameter_server import ParameterServer
from emulator.core.server.parameters import Parameters
from emulator.core.wire.messages import (
    ActivationGradient,
    Activations,
    Hello,
    Leave,
    LogitGradient,
    Logits,
    Pull,
    Update,
)
from emulator.errors import WireError
from emulator.layout import Layout, Variable
from emulator.learning.learners.base import Slopes
from emulator.log.lines import RunLog
from emulator.modulation import Constant
from emulator.synchronization import Asynchronous
from emulator.world.stop_conditions import Stop
from tests.fakes.core.made_server import made_server
from tests.fakes.core.mutated_frames import mutate

F = np.float32
WORKERS = ("a", "b", "c")
ROWS = {"a": 2, "b": 3, "c": 3}
DEVICES = Layout((Variable("first", (4,), "dense", 0),))
SERVER = Layout((Variable("last", (5,), "dense", 1),))
SIZES = ExampleSizes(activations=3, labels=2, classes=7)


class Counting:
    """A ServerPart that checks the sizes of all arguments."""

    def slopes(self, weights: Any, activations: Any, rows: int, labels: Any) -> Slopes:
        assert labels.shape == (rows * SIZES.labels,) and labels.dtype == np.int32
        assert labels.min() >= 0 and labels.max() < SIZES.classes
        return Slopes(0.5, *self._gradients(weights, activations, rows))

    def logits(self, weights: Any, activations: Any, rows: int) -> Any:
        self._gradients(weights, activations, rows)
        return np.zeros(rows * SIZES.logits, F)

    def slopes_of(self, weights: Any, activations: Any, rows: int, gradient: Any) -> Any:
        assert gradient.shape == (rows * SIZES.logits,) and np.isfinite(gradient).all()
        return self._gradients(weights, activations, rows)

    def _gradients(self, weights: Any, activations: Any, rows: int) -> Any:
        assert activations.shape == (rows * SIZES.activations,)
        assert activations.dtype == F and np.isfinite(activations).all()
        assert weights.shape == (SERVER.size,)
        return np.ones_like(activations), np.ones(SERVER.size, F)


def made(cut: Cut) -> tuple[ParameterServer, CutExchange]:
    def parameters(layout: Layout) -> Parameters:
        return Parameters(np.zeros(layout.size, F), 0.5, Constant().start(layout))

    plan = CutPlan(cut, SIZES, SERVER, lambda node: ROWS[node])
    exchange = CutExchange(plan, Counting(), parameters(SERVER))
    server = made_server(
        parameters(DEVICES),
        layout=DEVICES,
        codec=Dense(),
        synchronizer=Asynchronous().start(frozenset(WORKERS)),
        workers=WORKERS,
        evaluator=None,
        stop=Stop(),
        log=RunLog(io.BytesIO()),
        now=0.0,
        cut=exchange,
    )
    for node in WORKERS:
        server.receive(Hello(node, 0), 1.0)
    return server, exchange


@dataclass
class Member:
    """A device as the model knows it."""

    version: int | None = None
    ticket: int | None = None
    phase: str = "none"
    away: bool = False


class Model:
    """What a server may take."""

    def __init__(self, cut: Cut) -> None:
        self.cut, self.members = cut, {name: Member() for name in WORKERS}
        self.version = self.server_version = 0
        self.item = {"f32": 4, "f16": 2}[cut.values]

    def takes(self, message: Any) -> bool:
        """Return whether `message` may be taken; change the state as its taking does."""
        member = self.members.get(getattr(message, "node", ""))
        if member is None:
            return False
        if member.away and not isinstance(message, Hello):
            return False
        match message:
            case Hello() | Leave():
                self.members[message.node] = Member(away=isinstance(message, Leave))
            case Pull():
                if message.segments not in ((), ((1, 1),)):
                    return False
                if message.held is not None and message.held > self.version:
                    return False
                self.members[message.node] = Member(self.version, message.ticket, "computes")
            case Activations():
                if not self._activations(member, message):
                    return False
                member.phase = "answers" if self.cut.labels == "local" else "pushes"
                self.server_version += self.cut.labels == "sent"
            case LogitGradient():
                values = message.gradient
                if member.phase != "answers" or message.ticket != member.ticket:
                    return False
                if len(values) != ROWS[message.node] * 2 * 7 * 4 or not finite(values, 4):
                    return False
                member.phase = "pushes"
                self.server_version += 1
            case Update():
                if member.phase != "pushes" or message.version != member.version:
                    return False
                if len(message.frames) != 1 or len(message.frames[0]) != 4 * DEVICES.size:
                    return False
                if not finite(message.frames[0], 4):
                    return False
                self.members[message.node] = Member()
                self.version += 1
            case _:
                return False
        return True

    def _activations(self, member: Member, sent: Activations) -> bool:
        rows = ROWS[sent.node]
        if (sent.version, sent.ticket) != (member.version, member.ticket):
            return False
        if member.phase != "computes" or sent.rows != rows:
            return False
        if len(sent.activations) != rows * 3 * self.item or not finite(sent.activations, self.item):
            return False
        if self.cut.labels == "local":
            return sent.labels is None
        if sent.labels is None or len(sent.labels) != rows * 2 * 4:
            return False
        return all(0 <= label < 7 for label in np.frombuffer(sent.labels, "<i4").tolist())


def finite(frame: Any, item: int) -> bool:
    return bool(np.isfinite(np.frombuffer(frame, f"<f{item}")).all())


class Liar:
    """Makes messages that are honest, honest but out of place, or neither."""

    def __init__(self, model: Model, dice: Random) -> None:
        self.model, self.dice, self.tickets = model, dice, 0
        self.coding = ActivationCoding(model.cut.values)

    def message(self) -> Any:
        dice, node = self.dice, self.dice.choice(WORKERS)
        member = self.model.members[node]
        if member.away and dice.random() < 0.3:
            return Hello(node, 1)
        if dice.random() < 0.03:
            return dice.choice(
                [Hello(node, 1), Leave(node), Pull(node, 5), *self.downwards(member)]
            )
        if member.phase == "none":
            self.tickets += 1
            return Pull(node, self.tickets)
        message = self.honest(node, member)
        return self.lie(message) if dice.random() < 0.3 else message

    def downwards(self, member: Member) -> list[Any]:
        ticket = member.ticket or 0
        return [ActivationGradient(ticket, 0.5, bytes(12)), Logits(ticket, bytes(8))]

    def honest(self, node: str, member: Member) -> Any:
        dice, rows, local = self.dice, ROWS[node], self.model.cut.labels == "local"
        ticket, version = member.ticket or 0, member.version or 0
        match member.phase:
            case "computes":
                values = self.coding.encode(np.array([dice.random() for _ in range(3 * rows)], F))
                labels = np.array([dice.randrange(7) for _ in range(2 * rows)], "<i4").tobytes()
                return Activations(node, version, ticket, rows, values, None if local else labels)
            case "answers":
                return LogitGradient(node, ticket, 0.5, np.ones(14 * rows, F).tobytes())
        return Update(node, version, 0.5, 0.01, (np.ones(DEVICES.size, F).tobytes(),))

    def lie(self, message: Any) -> Any:
        """Return `message` with another field, or a message of another phase."""
        dice, node = self.dice, message.node
        lies: list[dict[str, Any]] = [{"node": dice.choice([*WORKERS, "mallory"])}]
        if isinstance(message, Activations):
            labels = message.labels or b""
            lies += [
                {"rows": dice.randint(1, 4)},
                {"activations": bytes(message.activations) * 2},
                {"activations": b"\xff" * len(message.activations)},
                {"activations": bytes(message.activations)[: 2 * message.rows]},
                {"labels": None if message.labels else bytes(8 * message.rows)},
                {"labels": bytes(labels)[:-1] + b"\x7f" if labels else None},
                {"labels": b"\x07\x00\x00\x00" * 2 * message.rows},
                {"labels": bytes(labels) * 2 or None},
            ]
        if isinstance(message, LogitGradient):
            lies += [
                {"gradient": bytes(message.gradient) * 2},
                {"gradient": b"\xff" * len(message.gradient)},
            ]
        if not isinstance(message, LogitGradient):
            lies += [{"version": max(0, message.version + dice.randint(-1, 1))}]
        if not isinstance(message, Update):
            lies += [{"ticket": dice.randint(0, self.tickets)}]
        if dice.random() < 0.3:
            member = self.model.members[node]
            phase = dice.choice(["computes", "answers", "pushes"])
            return self.honest(node, replace(member, phase=phase))
        return replace(message, **dice.choice(lies))


CUTS = {
    f"{labels}-{values}": Cut(1, labels, values)
    for labels in ("sent", "local")
    for values in ("f32", "f16")
}


@pytest.mark.slow
@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("messages", [5_000, pytest.param(100_000, marks=pytest.mark.thorough)])
def test_exactly_what_may_be_taken_is_taken(cut: Cut, messages: int) -> None:
    dice, (server, exchange) = Random(11), made(cut)
    model = Model(cut)
    liar = Liar(model, dice)
    taken = refused = 0
    for _ in range(messages):
        frames = [bytes(frame) for frame in wire.pack(liar.message())]
        if dice.random() < 0.15:
            frames = [mutate(frame, dice) for frame in frames]
        try:
            message: Any = wire.unpack(frames)
        except WireError:
            refused += 1
            continue
        before = exchange.parameters.version
        may = model.takes(message)
        try:
            server.receive(message, 2.0)
            does = True
        except WireError:
            does = False
            assert exchange.parameters.version == before
        assert does == may, message
        assert server.version == model.version
        assert exchange.parameters.version == model.server_version
        taken, refused = taken + does, refused + (not does)
        kept = {sent.node for each in exchange._rounds._round.values() for sent in each.group}
        assert kept == {n for n, member in model.members.items() if member.phase == "answers"}
    assert min(taken, refused) > messages / 10 and model.version > messages / 20


def test_a_claim_of_many_rows_costs_no_memory() -> None:
    server, _ = made(Cut(1))
    server.receive(Pull("a", 1), 2.0)
    head = bytes(wire.pack(Activations("a", 0, 1, 2**20, bytes(2**21)))[0])
    tracemalloc.start()
    for frames in ([head, bytes(24)], [head, bytes(2**21)]):
        with pytest.raises(WireError):
            server.receive(wire.unpack(frames), 2.0)
    assert tracemalloc.get_traced_memory()[1] < 3 << 20
    tracemalloc.stop()


def test_a_server_whose_devices_hold_the_whole_model_takes_no_activations() -> None:
    server, _ = made(Cut(1))
    server._exchanges._cut = None
    server.receive(Pull("a", 1), 2.0)
    with pytest.raises(WireError, match="hold the whole model"):
        server.receive(Activations("a", 0, 1, 2, bytes(24), bytes(16)), 2.0)
