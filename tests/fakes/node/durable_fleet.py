"""Workers and an evaluator that say anything an honest node may say, to a server on a disk."""

from random import Random

import numpy as np

from emulator import codecs, plugins
from emulator.core.plan import Durability, Plan, WorkerPlan
from emulator.core.wire.messages import (
    Diverged,
    Hello,
    ModelReply,
    ModelSegment,
    Patch,
    PatchSegment,
    Pull,
    Score,
    Update,
    UpdateSegment,
)
from emulator.core.zmtp import Form, Heartbeat
from emulator.layout import Layout
from emulator.learning.models import MODELS
from emulator.node.durable.durable_server import DurableServer
from emulator.node.durable.packed_state import PackedState, packed
from emulator.node.durable.recovery import Resumed, recovered
from emulator.plugins.stateful import copied
from emulator.units import Fraction
from emulator.world.roles import CONDUCTOR
from emulator.world.stop_conditions import Stop
from tests.fakes.core.made_server import planned_server

WORKERS = ("a", "b", "c", "d")
MODEL = "digits-mlp"
LAYOUT: Layout = MODELS[MODEL].layout
SEGMENTS = ((1, 1), (2, 3))


def plan_of(*, durability=None, codec=None, **parts) -> Plan:
    """Return the plan of a run of four workers; `parts` are plugins by the plan's fields."""
    worker = {name: plugins.plain(parts.pop(name)) for name in ("pull",) if name in parts}
    return Plan(
        worker=WorkerPlan(
            seed=3,
            batch_size=4,
            codec=plugins.plain(codec or codecs.TopK(keep=Fraction(0.02))),
            fleet=4,
            form=Form(durable=True),
            **worker,
        ),
        model=MODEL,
        learning_rate=0.1,
        workers=WORKERS,
        evaluator="evaluator",
        every=7,
        stop=Stop(updates=10**6),
        durability=durability or Durability(),
        groups=parts.pop("groups", ()),
        examples=dict.fromkeys(WORKERS, 20),
        **{name: plugins.plain(part) for name, part in parts.items()},
    )


def frozen(server) -> PackedState:
    """Return the present state of `server`, which later changes do not reach."""
    return packed(copied(server.state()))


class DurableFleet:
    """A server with its state in the folder `output`, and the nodes that talk to it."""

    def __init__(self, plan: Plan, output, seed: int = 0) -> None:
        self.plan, self.output = plan, output
        self.dice, self.now = Random(seed), 100.0
        self.codec = codecs.make(plan.worker.codec)
        self.models: dict[str, tuple[int, int, bool]] = {}  # version, ticket, whether in segments
        self.pushed: dict[str, list] = {}
        self.tickets = dict.fromkeys((*WORKERS, "evaluator"), 0)
        self.server: DurableServer | None = None
        self.boot()

    def boot(self, resumes: int = 0, at: float = 0.0) -> None:
        """Make the server from the disk, as a new process does; `at`: emulated seconds of the last
        record of a run that is resumed."""
        if self.server is not None:  # no thread of a process that is gone writes to its folder
            self.server.journal._thread.shutdown()
        resumed = Resumed(resumes, at)
        self.server, self.log = recovered(self.output, self.plan, self._build, resumed)

    def _build(self, log):
        return planned_server(self.plan, log, self.now, pause=Heartbeat().interval)

    def begin(self) -> None:
        for node in self.tickets:
            self.tell(Hello(node, 0))
        if self.plan.conducted:
            self.tell(Hello(CONDUCTOR, 0))

    def tell(self, message):
        """Pass `message` to the server a moment later; return the replies, after ticks."""
        self.now += self.dice.random() / 10
        return self.take(self.server.handle(message.node, message, self.now))

    def take(self, replies):
        for node, reply in replies:
            if isinstance(reply, ModelReply | Patch):
                self.models[node] = reply.version, reply.ticket, False
            elif isinstance(reply, ModelSegment | PatchSegment):
                self.models[node] = reply.version, reply.ticket, True
        return replies

    def play(self, steps: int) -> None:
        for _ in range(steps):
            self.step()

    def step(self) -> None:
        """Let a node, drawn at random, say something."""
        node = self.dice.choice([*WORKERS, *WORKERS, "evaluator"])
        chance = self.dice.random()
        if chance < 0.03:
            self.models.pop(node, None)
            self.tell(Hello(node, 1))
        elif chance < 0.05:
            self.now += 30.0
            self.server.journal.finish()  # a disk is never 30 seconds late here, however busy it is
            self.take(self.server.tick(self.now))
        elif chance < 0.06:
            self.server.refuse(node, "unreadable", self.now)
        elif node in self.models:
            self.push(node)
        else:
            self.pull(node)

    def pull(self, node: str):
        self.tickets[node] += 1
        segments = SEGMENTS if node == "d" else ()
        held = self.server.version - 2 if node == "b" and self.server.version > 2 else None
        return self.tell(Pull(node, self.tickets[node], 0, held, segments))

    def push(self, node: str) -> None:
        """Push a drawn gradient on the model of `node`, or a score."""
        version, ticket, whole = self.models.pop(node)
        if node == "evaluator":
            messages = [Score(node, version, self.dice.random(), 1.0)]
        elif self.dice.random() < 0.05:
            messages = [Diverged(node, version)]
        elif whole:
            messages = [
                UpdateSegment(node, version, ticket, part, 0.5, 0.01, self.frames(part))
                for part in SEGMENTS[::-1]
            ]
        else:
            messages = [Update(node, version, 0.5, 0.01, self.frames((1, 3)), ticket)]
        self.pushed[node] = messages
        for message in messages:
            self.tell(message)

    def frames(self, segment):
        layout = LAYOUT.part(segment)
        drawn = np.random.default_rng(self.dice.randrange(2**32)).standard_normal(layout.size)
        context = codecs.EncoderContext(layout, np.random.default_rng(0))
        return list(self.codec.start(context).encode(drawn.astype(np.float32)))

    @property
    def lines(self) -> bytes:
        return (self.output / "run.jsonl").read_bytes()
