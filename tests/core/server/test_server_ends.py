"""How a parameter server's run ends: each way, and what is still done before."""

import pytest

from emulator.core.server.parameter_server import ENDING
from emulator.core.wire.messages import Bye, Diverged, Score
from emulator.world.stop_conditions import Stop
from tests.fakes.core.server_world import WORKERS, World


def test_the_last_model_is_measured_before_the_end():
    world = World(stop=Stop(updates=2))
    world.begin()
    world.pull("evaluator", after=0)
    world.round("a")
    world.round("b")
    assert world.server.ended.reason == "updates" and not world.server.over
    assert world.pull("a") == []  # nobody trains any more
    world.server.receive(Score("evaluator", 0, 0.1, 1.0), 111.0)
    ((node, model),) = world.pull("evaluator", after=1)
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
    world = World(stop=stop, every=1)
    world.begin(now=105.0)
    world.pull("evaluator")
    if reason == "time":
        assert world.server.deadline() == 135.0
        world.server.tick(135.0)
        world.score(0, 136.0)
    else:
        world.score(0, 110.0, accuracy=0.89)
        assert world.server.ended is None
        world.round("a")
        world.pull("evaluator", after=1)
        world.score(1, 136.0, accuracy=0.9)
    assert world.server.over
    assert world.said("stop")[0]["reason"] == reason


def test_a_run_can_be_ended_from_outside():
    world = World()
    world.begin()
    assert len(world.server.end("canceled", 115.0)) == 4
    assert world.server.end("canceled", 116.0) == []
    assert world.said("stop") == [{"at": 10.0, "what": "stop", "reason": "canceled"}]


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
