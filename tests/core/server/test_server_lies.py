"""What a parameter server refuses: lies, late pushes, and bytes at random; none does harm."""

import random

import numpy as np
import pytest

from emulator.codecs import TopK
from emulator.core import wire
from emulator.core.wire.messages import Begin, Bye, Diverged, Hello, ModelReply, Pull, Score, Update
from emulator.errors import WireError
from emulator.modulation import PerParameter
from emulator.units import Fraction
from tests.fakes.core.mutated_frames import mutate
from tests.fakes.core.server_world import LAYOUT, World


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
        (ModelReply(0, 0, np.zeros(40, np.float32)), "does not take"),
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
        sent = world.server._exchanges._pulled.version("a") or 0
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
