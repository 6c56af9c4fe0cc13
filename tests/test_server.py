"""The parameter server by hand: messages in, messages out, `now` as we please."""

import io
import json
import random

import numpy as np
import pytest

from emulator.codecs import Dense, Plain, TopK
from emulator.core import wire
from emulator.core.messages import (
    Begin,
    Bye,
    Diverged,
    Hello,
    Model,
    Patch,
    Pull,
    Score,
    Update,
)
from emulator.core.parameters import Parameters
from emulator.core.server import ENDING, GATHERING, ParameterServer, Stop
from emulator.errors import WireError
from emulator.layout import Layout, Variable
from emulator.modulation import Constant, PerParameter
from emulator.pulls import Delta, Holder
from emulator.runlog import RunLog
from emulator.synchronization import Asynchronous, Barrier
from emulator.units import Fraction, Seconds
from tests.test_wire import mutate

LAYOUT = Layout((Variable("w", (40,), "dense", 0),))
WORKERS = ("a", "b", "c")


class World:
    """A server, its log, and ways to talk to it in a word."""

    def __init__(self, **options):
        self.sink = io.BytesIO()
        self.codec = options.pop("codec", Dense())
        synchronization = options.pop("synchronization", Asynchronous())
        modulator = options.pop("modulation", Constant()).start(LAYOUT)
        options.setdefault("stop", Stop(updates=1000))
        options.setdefault("evaluator", "evaluator")
        self.server = ParameterServer(
            Parameters(np.zeros(40, np.float32), 0.5, modulator),
            layout=LAYOUT,
            codec=self.codec,
            synchronizer=synchronization.start(frozenset(WORKERS)),
            workers=WORKERS,
            log=RunLog(self.sink),
            now=100.0,
            **options,
        )
        self.ticket = 0

    def begin(self, now=105.0):
        members = [*WORKERS, *(["evaluator"] if self.server._evaluator else [])]
        for name in members:
            replies = self.server.receive(Hello(name, 0), now)
        return replies

    def pull(self, node, now=110.0, after=0, held=None):
        self.ticket += 1
        return self.server.receive(Pull(node, self.ticket, after, held), now)

    def push(self, node, version, now=110.0, value=1.0):
        gradient = np.full(40, value, np.float32)
        frames = Plain(self.codec, LAYOUT).encode(gradient)
        return self.server.receive(Update(node, version, 0.5, 0.01, frames), now)

    def ramp(self, node, version, shift=0):
        """Push a gradient of which a sparse codec takes four neighbours."""
        gradient = np.roll(np.arange(40, dtype=np.float32) / 3, 7 * shift)
        frames = Plain(self.codec, LAYOUT).encode(gradient)
        return self.server.receive(Update(node, version, 0.5, 0.01, frames), 110.0)

    def round(self, node, now=110.0):
        (reply,) = self.pull(node, now)
        return self.push(node, reply[1].version, now)

    @property
    def records(self):
        return [json.loads(line) for line in self.sink.getvalue().splitlines()]

    def said(self, what):
        return [record for record in self.records if record["what"] == what]


def test_nobody_gets_a_model_before_all_have_said_hello():
    world = World()
    for name in WORKERS:
        assert world.server.receive(Hello(name, 0), 101.0) == []
    assert world.server.missing == ["evaluator"]
    with pytest.raises(WireError, match="has not said hello"):
        world.pull("a")
    replies = world.server.receive(Hello("evaluator", 0), 105.0)
    assert sorted(name for name, _ in replies) == ["a", "b", "c", "evaluator"]
    assert all(isinstance(reply, Begin) and reply.zero == 105.0 for _, reply in replies)
    assert [record["at"] for record in world.said("hello")] == [-4.0, -4.0, -4.0, 0.0]
    assert world.said("start")[0]["at"] == 0


def test_who_stays_silent_is_named():
    world = World()
    world.server.receive(Hello("b", 0), 101.0)
    assert world.server.deadline() == 100.0 + GATHERING
    assert world.server.tick(219.9) == []
    (reply,) = world.server.tick(220.0)
    assert reply[0] == "b" and isinstance(reply[1], Bye)
    assert world.said("stop")[0]["reason"] == "failed"
    assert world.said("stop")[0]["detail"] == "no hello from a, c, evaluator"


def test_a_push_moves_the_model_and_is_counted():
    world = World()
    world.begin()
    ((node, model),) = world.pull("a")
    assert (node, model.ticket, model.version) == ("a", 1, 0)
    world.push("a", 0, now=111.0)
    assert (world.server.parameters.theta == np.float32(-0.5)).all()
    (update,) = world.said("update")
    assert update["at"] == 6.0
    assert (update["version"], update["updates"], update["staleness"]) == (1, 1, 0)
    assert (update["entries"], update["values"], update["indices"]) == (40, 160, 0)
    ((_, model),) = world.pull("a")
    assert model.version == 1 and (model.theta == np.float32(-0.5)).all()


def test_the_bytes_counted_are_the_bytes_packed():
    world = World(codec=TopK(keep=Fraction(0.1)))
    world.begin()
    world.pull("a")
    frames = world.codec.encode(np.arange(40, dtype=np.float32), LAYOUT)
    update = Update("a", 0, 0.5, 0.01, frames)
    world.server.receive(update, 110.0)
    (record,) = world.said("update")
    kinds = ("values", "indices", "headers", "framing")
    assert sum(record[kind] for kind in kinds) == wire.size(update)
    (pull,) = world.said("pull")
    assert pull["bytes"] == wire.size(Model(1, 0, np.zeros(40, np.float32)))


def test_staleness_is_what_others_did_in_between():
    world = World()
    world.begin()
    world.pull("a")
    world.round("b")
    world.round("c")
    world.push("a", 0)
    assert [record["staleness"] for record in world.said("update")] == [0, 0, 2]


@pytest.mark.parametrize("values", ["f32", "f16"])
def test_a_patch_costs_no_copy_of_the_model(values):
    """However many are answered, the next step changes the model where it lies."""
    world = World(codec=TopK(keep=Fraction(0.1)), pulls=Delta(values).start(LAYOUT))
    world.begin()
    holders = {node: Holder(values, LAYOUT) for node in WORKERS}
    for node in WORKERS:
        ((_, whole),) = world.pull(node)
        frames = (whole.theta.tobytes(),) if values == "f32" else whole.frames
        holders[node].take(0, frames, None)
    world.ramp("c", 0)  # copies what is lent as a whole
    model = world.server.parameters
    where = model.theta
    for turn in range(1, 6):
        for node in WORKERS:
            ((_, patch),) = world.pull(node, held=holders[node].version)
            assert isinstance(patch, Patch)
            held = holders[node].take(patch.version, patch.frames, patch.base)
            expected = where if values == "f32" else where.astype("f2").astype("f4")
            assert held.tobytes() == expected.tobytes()
        world.ramp("a", model.version, turn)
        assert model.theta is where
    assert model.version == 6


@pytest.mark.parametrize("values", ["f32", "f16"])
def test_what_workers_hold_can_be_had_and_stays(values):
    world = World(codec=TopK(keep=Fraction(0.1)), pulls=Delta(values).start(LAYOUT))
    world.begin()
    world.pull("a")
    world.ramp("a", 0)
    world.pull("a", held=0)
    model = world.server.parameters
    expected = model.theta.copy() if values == "f32" else model.theta.astype("f2").astype("f4")
    held = world.server.pulled()
    assert world.server.pulled() is held
    world.ramp("a", 1)
    assert held.tobytes() == expected.tobytes()
    assert world.server.pulled().tobytes() != held.tobytes()


def test_a_model_under_way_does_not_change():
    world = World()
    world.begin()
    ((_, model),) = world.pull("a")
    world.round("b")
    assert (model.theta == 0).all()
    assert not model.theta.flags.writeable


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        (Update("a", 1, 0.0, 0.0, ()), "cannot know 1"),
        (Update("b", 0, 0.0, 0.0, ()), "was last sent version None"),
        (Update("a", 0, 0.0, 0.0, (b"123",)), "bytes"),
        (Update("a", 0, 0.0, 0.0, (b"\0\0\xc0\x7f" * 40,)), "not finite"),
        (Update("a", 0, 0.0, 0.0, (b"\0\0\0\0" * 41,)), "bytes"),
        (Score("a", 0, 0.5, 0.1), "not the evaluator"),
        (Score("evaluator", 0, 0.5, 0.1), "was last sent version None"),
        (Pull("mallory", 0), "not a member"),
        (Hello("mallory", 0), "not a member"),
        (Model(0, 0, np.zeros(40, np.float32)), "does not take"),
        (Bye(), "does not take"),
    ],
)
def test_lies_are_refused_and_change_nothing(message, complaint):
    world = World()
    world.begin()
    world.pull("a")
    with pytest.raises(WireError, match=complaint):
        world.server.receive(message, 110.0)
    assert world.server.version == 0 and (world.server.parameters.theta == 0).all()
    world.push("a", 0)  # an honest one is still taken
    assert world.server.version == 1


def test_one_push_for_each_model():
    world = World()
    world.begin()
    world.round("a")
    with pytest.raises(WireError, match="was last sent version None"):
        world.push("a", 0)


def test_after_a_restart_the_old_push_is_not_taken():
    world = World()
    world.begin()
    world.pull("a")
    assert isinstance(world.server.receive(Hello("a", 1), 120.0)[0][1], Begin)
    with pytest.raises(WireError):
        world.push("a", 0)
    world.round("a")
    assert world.said("hello")[-1]["incarnation"] == 1


def test_the_evaluator_waits_for_its_update_and_holds_up_nobody():
    world = World()
    world.begin()
    ((_, model),) = world.pull("evaluator", after=0)
    world.server.receive(Score("evaluator", model.version, 0.1, 2.3), 110.0)
    assert world.pull("evaluator", after=2) == []
    assert world.round("a") == []
    ((node, model),) = world.round("b")
    assert node == "evaluator" and model.version == 2
    world.round("c")  # meanwhile
    world.server.receive(Score("evaluator", 2, 0.5, 1.0), 112.0)
    (first, second) = world.said("evaluation")
    assert (first["version"], second["version"], second["accuracy"]) == (0, 2, 0.5)
    update = world.said("update")[0]
    one = sum(update[kind] for kind in ("values", "indices", "headers", "framing"))
    assert first["push_bytes"] == 0 and second["push_bytes"] == 3 * one


def test_the_last_model_is_measured_before_the_end():
    world = World(stop=Stop(updates=2))
    world.begin()
    world.pull("evaluator", after=0)
    world.round("a")
    world.round("b")
    assert world.server.ended.reason == "updates" and not world.server.over
    assert world.pull("a") == []  # nobody trains any more
    world.server.receive(Score("evaluator", 0, 0.1, 1.0), 111.0)
    ((node, model),) = world.pull("evaluator", after=200)
    assert node == "evaluator" and model.version == 2
    replies = world.server.receive(Score("evaluator", 2, 0.7, 1.0), 112.0)
    assert {type(reply) for _, reply in replies} == {Bye} and len(replies) == 4
    assert world.server.over and world.server.deadline() is None
    assert world.records[-1]["what"] == "stop" and world.records[-1]["reason"] == "updates"


def test_an_evaluator_that_is_gone_does_not_keep_the_run_alive():
    world = World(stop=Stop(updates=1))
    world.begin()
    world.round("a", now=110.0)
    assert world.server.deadline() == 110.0 + ENDING
    assert len(world.server.tick(110.0 + ENDING)) == 4
    assert world.server.over


@pytest.mark.parametrize(
    ("stop", "reason"), [(Stop(time=30.0), "time"), (Stop(accuracy=0.9), "accuracy")]
)
def test_other_ways_to_end(stop, reason):
    world = World(stop=stop)
    world.begin(now=105.0)
    world.pull("evaluator")
    if reason == "time":
        assert world.server.deadline() == 135.0
        world.server.tick(135.0)
    else:
        world.server.receive(Score("evaluator", 0, 0.89, 0.1), 110.0)
        assert world.server.ended is None
        world.pull("evaluator")
    world.server.receive(Score("evaluator", 0, 0.9, 0.1), 136.0)
    assert world.server.over
    assert world.said("stop")[0]["reason"] == reason


def test_a_run_can_be_ended_from_outside():
    world = World()
    world.begin()
    assert len(world.server.end("canceled", 115.0)) == 4
    assert world.server.end("canceled", 116.0) == []
    assert world.said("stop") == [{"at": 10.0, "what": "stop", "reason": "canceled"}]


def test_a_barrier_holds_pulls_until_all_have_pushed():
    world = World(synchronization=Barrier(patience=Seconds(60)))
    world.begin()
    for name in WORKERS:
        world.pull(name)
    world.push("a", 0)
    assert world.pull("a") == []
    world.push("b", 0)
    assert world.pull("b") == []
    replies = world.push("c", 0, value=4.0)
    assert [(node, reply.version) for node, reply in replies] == [("a", 3), ("b", 3)]
    assert np.allclose(world.server.parameters.theta, -0.5 * 2.0)  # the mean of 1, 1 and 4
    assert [record["staleness"] for record in world.said("update")] == [0, 0, 0]


def test_a_barrier_gives_up_on_the_dead():
    world = World(synchronization=Barrier(patience=Seconds(20)))
    world.begin()
    world.pull("a")
    world.push("a", 0, now=110.0)
    assert world.pull("a") == []
    assert world.server.deadline() == 130.0
    ((node, model),) = world.server.tick(130.0)
    assert (node, model.version) == ("a", 1)


def test_divergence_ends_the_run_once_most_workers_say_so():
    world = World()
    world.begin()
    for name in WORKERS:
        world.pull(name)
    world.server.receive(Diverged("a", 0), 110.0)
    assert world.server.ended is None  # one may be wrong, or lie
    world.server.receive(Diverged("b", 0), 110.0)
    assert world.server.ended.reason == "diverged"


def test_a_worker_that_recovers_is_not_counted_as_diverged():
    world = World()
    world.begin()
    world.pull("a")
    world.pull("b")
    world.server.receive(Diverged("a", 0), 110.0)
    world.round("a")
    world.server.receive(Diverged("b", 0), 110.0)
    assert world.server.ended is None


@pytest.mark.slow
def test_a_hundred_thousand_mutated_messages_do_no_harm():
    """Fuzz the server as a member would, through the wire: it must refuse or take, never fail."""
    world = World(codec=TopK(keep=Fraction(0.1)), modulation=PerParameter())
    world.begin()
    dice = random.Random(11)
    gradient = np.random.default_rng(3).normal(size=40).astype(np.float32)
    taken = refused = 0
    for number in range(100_000):
        if number % 10 == 0:
            world.pull("a")
        sent = world.server._working.version("a") or 0
        frames = world.codec.encode(gradient, LAYOUT)
        honest = dice.choice(
            [
                Update("a", sent, 0.5, 0.01, frames),
                Pull("a", number),
                Hello("b", 1),
                Score("evaluator", 0, 0.5, 0.5),
                Diverged("c", sent),
            ]
        )
        before = world.server.parameters.theta.copy(), world.server.version
        try:
            message = wire.unpack([mutate(bytes(f), dice) for f in wire.pack(honest)])
            world.server.receive(message, 110.0)
            taken += 1
        except WireError:
            refused += 1
            assert world.server.version == before[1]
            assert (world.server.parameters.theta == before[0]).all()
        if world.server.version != before[1]:
            changed = np.flatnonzero(world.server.parameters.theta != before[0])
            assert len(changed) <= 4  # never more entries than the codec sends
            assert np.isfinite(world.server.parameters.theta).all() or not len(changed)
            world.server.parameters.theta[:] = 0
    assert taken > 1000 and refused > 1000 and world.server.version > 100
