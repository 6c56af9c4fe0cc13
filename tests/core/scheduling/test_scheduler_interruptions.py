"""Interruptions of a device that a scheduler plans for: lost, repeated and disordered events."""

import math
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.core.wire.messages import Times
from emulator.schedules import (
    DynaComm,
    LayerByLayer,
)
from tests.fakes.core.synthetic_device import COSTS, planned_device

replace = msgspec.structs.replace


def test_a_pull_that_is_asked_again_counts_once() -> None:
    played, whole = planned_device(), planned_device()
    whole.iterate(5)
    played.iterate(2)
    cuts = played.scheduler.cuts()
    played.begin()  # this question is lost
    played.now += 30.0
    assert played.scheduler.cuts() == cuts
    played.begin()
    played.pull(cuts.pull)
    played.push(cuts.push)
    played.iterate(2)
    for each in (played, whole):
        each.scheduler.close(each.now)
    (record,), (expected,) = played.reports.iterations, whole.reports.iterations
    assert record.iterations == expected.iterations == 4
    assert record.t_forward == pytest.approx(expected.t_forward)
    # without the 30 s; a pull that is sent later need not wait for the update before it
    assert record.t_iteration == pytest.approx(expected.t_iteration, rel=0.05)


@pytest.mark.parametrize("pieces", [0, 1, 2])
def test_a_connection_lost_within_a_pull_leaves_no_half_iteration(pieces: int) -> None:
    played = planned_device(LayerByLayer())
    played.iterate(3)
    cuts = played.scheduler.cuts()
    played.costs = replace(COSTS, down=replace(COSTS.down, pace=1.0), forward=(9.0,) * 4)
    played.begin()
    played.pull(cuts.pull[:pieces])  # then the connection is lost
    played.costs = COSTS
    played.now += 5.0
    # the first piece of the answer brought the times of the update before
    played.told = played.told if not pieces else ()
    played.iterate(1)
    played.iterate(50)
    (_, plan) = played.reports.plans
    assert plan.iteration == 51
    assert plan.down_rate == pytest.approx(COSTS.down.rate, rel=1e-6)
    assert plan.forward_times == pytest.approx([*COSTS.forward], rel=1e-6)


@pytest.mark.parametrize("told", ["one fewer", "another update's", "none", "infinite", "no number"])
def test_an_update_whose_times_are_not_known_does_not_count(told: str) -> None:
    played = planned_device(LayerByLayer())
    played.iterate(2)
    cuts = played.scheduler.cuts()
    played.begin()
    played.pull(cuts.pull)
    earlier = played.told
    played.push(cuts.push)
    played.told = {
        "one fewer": played.told[:-1],
        "another update's": earlier,
        "none": (),
        "infinite": (*played.told[:-1], math.inf),
        "no number": (*played.told[:-1], math.nan),
    }[told]
    played.iterate(2)
    played.scheduler.close(played.now)
    (record,) = played.reports.iterations
    assert record.iterations == 2 + 1  # the interrupted one and the last one are not known
    assert record.t_backward == pytest.approx(record.predicted_backward, rel=1e-6)


def test_a_server_with_another_clock_teaches_nothing() -> None:
    played = planned_device(LayerByLayer())
    for _ in range(3):
        cuts = played.scheduler.cuts()
        played.begin()
        played.scheduler.told(Times(played.now - 500.0, played.told))
        for segment in cuts.pull:
            played.scheduler.arrived(segment, 100, played.now)
            played.scheduler.forward(segment, [0.1], played.now, played.now + 0.1)
        played.push(cuts.push)
    played.scheduler.close(played.now)
    assert played.reports.iterations == []


def test_pieces_out_of_order_do_not_count() -> None:
    played = planned_device(LayerByLayer())
    scheduler, now = played.scheduler, played.now
    played.begin()
    scheduler.told(Times(now + 0.05, ()))
    for segment in ((2, 2), (1, 1), (1, 1), (9, 9)):
        scheduler.arrived(segment, 10**9, now + 1.0)
        scheduler.forward(segment, [1e6], now + 1.0, now + 1.0)
        scheduler.backward(segment, [1e6], now + 1.0, now + 1.0)
        scheduler.handed(segment, 1, now + 1.0)
    played.told = (now + 2.0,) * 4
    played.now = now + 3.0
    played.iterate(2)
    scheduler.close(played.now)
    assert [record.iterations for record in played.reports.iterations] == [1]


@pytest.mark.parametrize("event", ["arrived", "forward", "backward", "handed"])
def test_pieces_that_come_twice_count_once(event: str) -> None:
    played, again = planned_device(LayerByLayer()), planned_device(LayerByLayer())
    observer = getattr(again.scheduler, event)

    def twice(*observation: Any) -> None:
        observer(*observation)
        observer(*observation)

    setattr(again.scheduler, event, twice)
    for each in (played, again):
        each.iterate(51)
    assert again.reports.plans == played.reports.plans
    assert again.reports.iterations == played.reports.iterations


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from([1, 2, 3]))
def test_no_order_of_events_stops_a_device(rng: Random, replan: int) -> None:
    """Events lost, repeated or out of order, with times that cannot be."""
    played = planned_device(DynaComm(replan))
    scheduler = played.scheduler
    segments = [(first, last) for first in range(1, 5) for last in range(first, 5)]

    def at() -> float:
        return rng.choice([played.now, played.now + rng.random(), 0.0, math.inf, math.nan, -1e300])

    for _ in range(40):
        cuts = scheduler.cuts()
        for plan in (cuts.pull, cuts.push[::-1]):
            held = [layer for first, last in plan for layer in range(first, last + 1)]
            assert held == [1, 2, 3, 4]
        segment = rng.choice([*segments, *cuts.pull, *cuts.push])
        match rng.randrange(8):
            case 0:
                played.begin()
            case 1:
                scheduler.told(Times(at(), tuple(at() for _ in range(rng.randrange(4)))))
            case 2:
                scheduler.arrived(segment, rng.choice([0, 100, 10**12]), played.now)
            case 3:
                scheduler.forward(segment, [0.0] * 4, played.now, played.now)
            case 4:
                scheduler.backward(segment, [0.0] * 4, played.now, played.now)
            case 5:
                scheduler.handed(segment, rng.choice([0, 10**12]), played.now)
            case 6:
                played.told = tuple(at() for _ in cuts.push)
            case 7:
                played.begin()
                played.pull(cuts.pull)
                played.push(cuts.push)
    scheduler.close(played.now)


def test_events_before_the_first_pull_are_ignored() -> None:
    played = planned_device()
    scheduler = played.scheduler
    scheduler.told(Times(1.0, (2.0,)))
    scheduler.arrived((1, 1), 10, 1.0)
    scheduler.forward((1, 1), [1.0], 0.0, 1.0)
    scheduler.backward((1, 1), [1.0], 0.0, 1.0)
    scheduler.handed((1, 1), 10, 1.0)
    scheduler.close(2.0)
    assert played.reports.plans == played.reports.iterations == []
