"""Goodbyes at the server: nobody waits for a device that has left, before it says hello again."""

import numpy as np
import pytest

from emulator.core.cut.activation_gate import ActivationGate
from emulator.core.wire.messages import Begin, Diverged, Hello, Leave, Pull
from emulator.errors import WireError
from emulator.layout import Layout, Variable
from emulator.synchronization import Barrier
from emulator.units import Seconds
from emulator.world.stop_conditions import Stop
from tests.fakes.core.server_world import World

LAYERS = Layout((Variable("w", (20,), "dense", 0), Variable("v", (20,), "dense", 1)))


def barrier() -> World:
    world = World(synchronization=Barrier(patience=Seconds(1000)))
    world.begin()
    return world


def names(replies: list) -> list[str]:
    return [node for node, _ in replies]


def test_the_others_go_on_at_once_and_the_step_is_made() -> None:
    world = barrier()
    for node in "abc":
        world.pull(node)
    for node in "ab":
        assert world.push(node, 0) == []
        assert world.pull(node) == []
    assert sorted(names(world.server.receive(Leave("c"), 120.0))) == ["a", "b"]
    assert world.server.version == 2
    assert world.said("goodbye") == [{"at": 15.0, "what": "goodbye", "node": "c"}]
    assert world.server.deadline() is None  # no patience runs


def test_its_pull_is_not_answered_and_its_pieces_are_dropped() -> None:
    world = barrier()
    for node in "abc":
        world.pull(node)
    world.push("a", 0)
    world.pull("a")
    world.server.receive(Leave("a"), 120.0)
    world.push("b", 0)
    assert names(world.push("c", 0)) == []  # a's gradient counts, a's pull is gone
    assert [r["node"] for r in world.said("update")] == ["a", "b", "c"]
    world = World(layout=LAYERS)
    world.begin()
    world.pull("a", segments=((1, 1), (2, 2)))
    ramp = np.ones(40, np.float32)
    world.piece("a", 0, (2, 2), ramp)
    world.server.receive(Leave("a"), 120.0)
    world.server.receive(Hello("a", 1), 121.0)
    with pytest.raises(WireError):
        world.piece("a", 0, (1, 1), ramp)


@pytest.mark.parametrize("message", [Pull("c", 99), Diverged("c", 0), Leave("c")])
def test_whoever_has_left_must_say_hello_first(message: object) -> None:
    world = barrier()
    world.pull("c")
    world.server.receive(Leave("c"), 120.0)
    with pytest.raises(WireError, match="has said goodbye, and no hello since"):
        world.server.receive(message, 121.0)


def test_a_hello_brings_it_back_and_it_is_waited_for() -> None:
    world = barrier()
    world.server.receive(Leave("c"), 120.0)
    ((node, reply),) = world.server.receive(Hello("c", 1), 130.0)
    assert node == "c" and isinstance(reply, Begin)
    for each in "abc":
        world.pull(each, now=131.0)
    assert world.push("a", 0) == world.push("b", 0) == []
    assert world.server.version == 0
    world.push("c", 0)
    assert world.server.version == 3


def test_only_a_device_of_the_run_that_said_hello_can_leave() -> None:
    world = World()
    with pytest.raises(WireError, match="a has not said hello"):
        world.server.receive(Leave("a"), 101.0)
    world.begin()
    with pytest.raises(WireError, match="evaluator is no device"):
        world.server.receive(Leave("evaluator"), 110.0)
    with pytest.raises(WireError, match="not a member"):
        world.server.receive(Leave("mallory"), 110.0)


def test_a_goodbye_after_the_end_makes_no_step() -> None:
    world = World(synchronization=Barrier(), stop=Stop(updates=3), every=1)
    world.begin()
    for node in "abc":
        world.pull(node)
    for node in "abc":
        world.push(node, 0)
    assert world.server.ended and world.server.version == 3
    assert world.server.receive(Leave("b"), 120.0) == []
    assert world.server.version == 3


def test_the_gate_before_the_servers_layers_opens_for_the_rest() -> None:
    gate: ActivationGate[str] = ActivationGate(("abc",), patience=1000)
    assert gate.arrive("a", "a1", 0) is gate.arrive("b", "b1", 1) is None
    assert gate.departed("c") == ["a1", "b1"] and gate.deadline() is None
    gate.expect(["a", "b", "c"])  # the last push of c was in a step
    assert gate.arrive("a", "a2", 2) is None
    assert gate.arrive("b", "b2", 3) == ["a2", "b2"]
    gate.returned("c")
    assert gate.arrive("a", "a3", 4) is gate.arrive("b", "b3", 4) is None
    assert gate.arrive("c", "c3", 5) == ["a3", "b3", "c3"]
    assert gate.departed("stranger") is None
