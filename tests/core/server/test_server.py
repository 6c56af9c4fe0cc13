"""The parameter server: the receivers of models, the times, and the counts."""

from unittest.mock import patch

import numpy as np
import pytest

from emulator.codecs import TopK
from emulator.core import wire
from emulator.core.server.parameter_server import GATHERING
from emulator.core.wire.messages import Begin, Bye, Hello, ModelReply, Patch, Score, Update
from emulator.errors import WireError
from emulator.modulation import PerParameter, history
from emulator.pulls import Delta, HeldModel
from emulator.synchronization import Barrier
from emulator.units import Fraction, Seconds
from emulator.world.roles import CONDUCTOR
from tests.fakes.core.server_world import LAYOUT, WORKERS, World


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


@pytest.mark.parametrize("early", [False, True])
def test_a_conducted_run_begins_when_its_conductor_lets_it(early):
    world, members = World(conducted=True), [*WORKERS, "evaluator"]
    order = [CONDUCTOR, *members] if early else [*members, CONDUCTOR]
    *first, last = order
    for name in first:
        assert world.server.receive(Hello(name, 0), 101.0) == []
    assert world.server.missing == [last] and world.server.zero is None
    replies = world.server.receive(Hello(last, 0), 105.0)
    assert sorted(name for name, _ in replies) == ["a", "b", "c", "evaluator"]
    assert world.server.zero == 105.0
    assert world.server.receive(Hello(CONDUCTOR, 0), 106.0) == []
    assert sorted(record["node"] for record in world.said("hello")) == sorted(members)


def test_a_run_without_a_conductor_knows_none():
    world = World()
    with pytest.raises(WireError, match="is not a member of this run"):
        world.server.receive(Hello(CONDUCTOR, 0), 101.0)


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
    assert pull["bytes"] == wire.size(ModelReply(1, 0, np.zeros(40, np.float32)))


def test_staleness_is_what_others_did_in_between():
    world = World()
    world.begin()
    world.pull("a")
    world.round("b")
    world.round("c")
    world.push("a", 0)
    assert [record["staleness"] for record in world.said("update")] == [0, 0, 2]


def test_a_dead_device_costs_next_to_no_memory_and_its_late_update_counts():
    world = World(codec=TopK(keep=Fraction(0.1)), modulation=PerParameter())
    with patch.object(history, "_UPDATES", 4):
        world.begin()
        world.pull("a")
        for turn in range(400):
            ((_, model),) = world.pull("b")
            world.ramp("b", model.version, turn)
    past = world.server.parameters._modulator._history
    assert len(past._segments) <= 12  # of the hundred that there were
    assert world.ramp("a", 0) == []
    update = world.said("update")[-1]
    assert (update["node"], update["staleness"], update["divisor"]) == ("a", 400, 40.0)


@pytest.mark.parametrize("values", ["f32", "f16"])
def test_a_patch_costs_no_copy_of_the_model(values):
    """However many are answered, the next step changes the model where it lies."""
    world = World(codec=TopK(keep=Fraction(0.1)), pulls=Delta(values).start(LAYOUT))
    world.begin()
    holders = {node: HeldModel(values, LAYOUT) for node in WORKERS}
    for node in WORKERS:
        ((_, whole),) = world.pull(node)
        frames = (whole.theta.tobytes(),) if values == "f32" else whole.frames
        holders[node].decode(0, frames, None)
    world.ramp("c", 0)  # copies what is lent as a whole
    model = world.server.parameters
    where = model.theta
    for turn in range(1, 6):
        for node in WORKERS:
            ((_, patch),) = world.pull(node, held=holders[node].version)
            assert isinstance(patch, Patch)
            held = holders[node].decode(patch.version, patch.frames, patch.base)
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


def test_the_evaluator_waits_for_its_update_and_holds_up_nobody():
    world = World(every=2)
    world.begin()
    ((_, model),) = world.pull("evaluator", after=0)
    world.server.receive(Score("evaluator", model.version, 0.1, 2.3), 110.0)
    assert world.pull("evaluator", after=1) == []
    assert world.round("a") == []
    ((node, model),) = world.round("b")
    assert node == "evaluator" and model.version == 2
    world.round("c")  # meanwhile
    world.server.receive(Score("evaluator", 2, 0.5, 1.0), 112.0)
    (first, second) = world.said("evaluation")
    assert (first["version"], second["version"], second["accuracy"]) == (0, 2, 0.5)


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
