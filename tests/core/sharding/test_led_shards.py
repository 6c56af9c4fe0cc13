"""Shards in processes of their own, which lead and follow: as those of one process, to the bit."""

from random import Random

import numpy as np
import pytest

from emulator.codecs import Dense, TopK
from emulator.core.server.parameters import Parameters
from emulator.core.sharding.follower import Follower
from emulator.core.sharding.shard_channels import FollowerChannel, LeaderChannel, decode_told
from emulator.core.sharding.shard_orders import (
    Answered,
    AnswerPull,
    DropParts,
    EndRun,
    ForgetVersions,
    LeaveCame,
    MakeStep,
    PartCame,
    PullCame,
    Stepped,
    TellModel,
    TellOptimizer,
    ToldModel,
)
from emulator.core.wire.messages import Hello, Leave, Pull, UpdateSegment
from emulator.errors import WireError
from emulator.layout import Layout, Variable
from emulator.modulation import Constant, PerParameter
from emulator.optimizers import Momentum
from emulator.pulls import WholeModel
from emulator.synchronization import AnySynchronization, Asynchronous, Barrier, Bounded, Softsync
from emulator.units import Fraction
from tests.fakes.core.led_fleet import LedFleet
from tests.fakes.core.random_order_fleet import Fleet

TABLE = [Asynchronous(), Barrier(), Barrier(Fraction(0.5)), Bounded(bound=1), Softsync(splits=2)]
BY_TABLE = pytest.mark.parametrize("policy", TABLE, ids=lambda policy: str(policy.kind))
ALIKE = dict.fromkeys("abcd", 12)


@BY_TABLE
@pytest.mark.parametrize("shards", [2, 4])
def test_a_leader_writes_the_records_and_the_model_of_shards_in_one_process(
    policy: AnySynchronization, shards: int
) -> None:
    """With every divisor, byte and staleness."""
    options = {
        "updates": 60,
        "codec": TopK(Fraction(0.4), scope="variable"),
        "modulation": PerParameter(),
        "optimizer": Momentum(momentum=0.5),
        "seed": 3,
        "shards": shards,
    }
    played = []
    for kind in (Fleet, LedFleet):
        fleet = kind(policy, ALIKE, **options)
        fleet.play()
        state = fleet.server.model.optimizer_state()
        arrays = {name: array.tobytes() for name, array in state.arrays.items()}
        played.append((fleet.log.getvalue(), fleet.theta.tobytes(), state.kind, arrays))
    assert played[0] == played[1]


@BY_TABLE
def test_no_part_stays_when_devices_die_and_news_come_late(policy: AnySynchronization) -> None:
    dice = Random(5)
    fleet = LedFleet(policy, ALIKE, updates=150, shards=3, late=0.5, seed=2)
    boots, most = dict.fromkeys(ALIKE, 0), 0

    def strike(event: str, node: str) -> None:
        nonlocal most
        most = max(most, *(follower.staged for follower in fleet.followers.values()))
        victim = dice.choice([*ALIKE])
        if dice.random() < 0.02 and victim in fleet.devices and victim != node:
            boots[victim] += 1
            fleet.kill(victim)
            fleet.boot(victim, boots[victim])

    fleet.observe = strike
    fleet.play()
    versions = {follower._parameters.version for follower in fleet.followers.values()}
    assert versions == {fleet.server.version}
    assert fleet.server.version >= 150
    assert sum(boots.values()) > 5
    assert most <= 3 * len(ALIKE)
    fleet.server._synchronizer = fleet.server._exchanges = None  # pushes that wait for a step
    assert fleet.staged == 0


LAYOUT = Layout((Variable("w", (3,), "dense", 2),))
SEGMENT = (2, 2)


def follower() -> Follower:
    parameters = Parameters(np.zeros(3, np.float32), 1.0, Constant().start(LAYOUT))
    return Follower(SEGMENT, LAYOUT, parameters, WholeModel().start(LAYOUT), Dense())


def part(ticket: int, segment: tuple[int, int] = SEGMENT, size: int = 3) -> UpdateSegment:
    frames = (np.ones(size, np.float32).tobytes(),)
    return UpdateSegment("a", 0, ticket, segment, 0.5, 0.1, frames)


def test_a_follower_reports_what_comes_and_waits_for_orders() -> None:
    shard = follower()
    assert shard.hear(Pull("a", 1, segments=((1, 1), (2, 2)))) == PullCame(
        "a", 1, 0, None, ((1, 1), (2, 2))
    )
    assert shard.hear(Leave("a")) == LeaveCame("a")
    came = shard.hear(part(1))
    assert came == PartCame(1, "a", 0, 1, 0.5, 0.1, entries=3, frames=[12], count=(12, 0, 0))
    result, replies = shard.obey(AnswerPull("a", 2, None))
    assert (result, replies[0][0]) == (Answered(None, None), "a")
    assert replies[0][1].theta.tolist() == [0, 0, 0]
    assert shard.obey(MakeStep([(1, 0)])) == (Stepped([1.0], 0), [])
    model, _ = shard.obey(TellModel())
    assert isinstance(model, ToldModel)
    assert (model.version, np.frombuffer(model.theta, np.float32).tolist()) == (1, [-1, -1, -1])
    assert not shard.over
    shard.obey(EndRun())
    assert shard.over


@pytest.mark.parametrize(
    "message",
    [part(1, (1, 1)), part(1, size=2), Hello("a", 0), Pull("a", 1)],
    ids=["of another shard", "too short", "for the leader", "of the evaluator"],
)
def test_a_follower_refuses_what_is_not_for_it(message) -> None:
    shard = follower()
    with pytest.raises(WireError):
        shard.hear(message)
    assert shard.staged == 0


def test_a_part_that_no_step_uses_is_dropped_and_a_step_of_it_is_an_error() -> None:
    shard = follower()
    shard.hear(part(1))
    shard.obey(DropParts([1, 7]))
    assert shard.staged == 0
    with pytest.raises(KeyError):
        shard.obey(MakeStep([(1, 0)]))


@pytest.mark.parametrize(
    "told",
    [
        MakeStep([(1, 0)], [0.5]),
        AnswerPull("a", 3, None),
        ForgetVersions(3, [4]),
        TellModel(),
        TellOptimizer(),
    ],
)
def test_orders_are_the_same_behind_a_connection(told) -> None:
    told_again = decode_told(LeaderChannel(1).tell(told))
    assert FollowerChannel().take(told_again) == told
