"""Schedules against brute force, against each other, and against worked examples."""

import random
import time
from fractions import Fraction
from itertools import pairwise
from typing import Any, get_args

import pytest

from emulator import schedules
from emulator.schedules import (
    AnySchedule,
    Cuts,
    DynaComm,
    IBatch,
    LayerByLayer,
    LayerCosts,
    Sequential,
    cut,
    dynacomm,
    make,
    plain,
    timing,
)
from tests.schedules.brute_force import every_cut, pull_seconds, push_seconds
from tests.schedules.schedule_table import TABLE

OF_KINDS = pytest.mark.parametrize("schedule", TABLE, ids=str)

PARTS = 420  # times are multiples of 1/420 s: sevenths, thirds and quarters among them


def instance(rng: random.Random) -> tuple[int, list[int], list[int]]:
    """Draw set-up, transfers and computes of up to ten layers, in units of 1/420 s."""
    # most nets are short: a net of ten layers has 512 cuts to try
    layers = rng.choice([1, 2, 3, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 10])
    draw = rng.choice(
        [
            lambda: rng.randrange(5) * PARTS,  # whole seconds, zeros among them, many ties
            lambda: rng.randrange(10 * PARTS),
            lambda: int(PARTS * rng.paretovariate(0.7)),  # heavy tails
            lambda: rng.choice([0, 0, 1, 1000 * PARTS]),
        ]
    )
    setup = rng.choice([0, 1, rng.randrange(5) * PARTS, draw(), 10**6 * PARTS])
    return setup, [draw() for _ in range(layers)], [draw() for _ in range(layers)]


def seconds(parts: list[int]) -> list[Fraction]:
    return [Fraction(part, PARTS) for part in parts]


@pytest.mark.slow
@pytest.mark.parametrize("instances", [200, pytest.param(1200, marks=pytest.mark.slow)])
def test_every_plan_equals_brute_force(instances: int) -> None:
    rng = random.Random("tests/schedules")
    strict = dict.fromkeys([Sequential(), LayerByLayer(), IBatch()], 0)
    for _ in range(instances):
        setup, transfer, computing = instance(rng)
        exact = Fraction(setup, PARTS), seconds(transfer), seconds(computing)
        cuts = [*every_cut(len(transfer))]
        for phase, played, played_exactly in (
            ("pull", [pull_seconds(c, setup, transfer, computing) for c in cuts], timing.pull),
            (
                "push",
                [push_seconds(c[::-1], setup, transfer, computing) for c in cuts],
                timing.push,
            ),
        ):
            least = Fraction(min(played), PARTS)
            fewest = min(len(c) for c, t in zip(cuts, played, strict=True) if t == min(played))
            assert dynacomm.least_time(*exact) == least
            for schedule in TABLE:
                segments = getattr(schedule, phase)(*exact)
                took = played_exactly(segments, *exact).seconds
                at = cuts.index(segments if phase == "pull" else segments[::-1])
                assert took == Fraction(played[at], PARTS)
                assert took >= least
                if isinstance(schedule, DynaComm):
                    assert (took, len(segments)) == (least, fewest), schedule
                else:
                    strict[schedule] += took > least
            sequential = Fraction(played[0], PARTS)
            assert sequential <= 2 * least, "no phase gains more than a factor of two"
    # the instances are not so simple that everybody is best
    assert min(strict.values()) > instances / 10, strict


def test_cutting_each_layer_is_optimal_without_setup() -> None:
    rng = random.Random("tests/schedules/no-setup")
    for _ in range(500):
        _, transfer, computing = instance(rng)
        whole = LayerByLayer().pull(0, transfer, computing)
        least = dynacomm.least_time(0, transfer, computing)
        assert timing.pull(whole, 0, transfer, computing).seconds == least
        assert timing.push(whole[::-1], 0, transfer, computing).seconds == least


def test_both_methods_agree_on_long_nets_in_floats() -> None:
    rng = random.Random("tests/schedules/floats")
    for layers in (20, 40, 60):
        for setup in (0.0, 1e-4, 3e-3, 0.1):
            transfer = [rng.paretovariate(0.9) * 1e-3 for _ in range(layers)]
            computing = [rng.paretovariate(1.5) * 1e-3 for _ in range(layers)]
            fast, paper = DynaComm(), DynaComm(method="paper")
            for phase, evaluate in (("pull", timing.pull), ("push", timing.push)):
                plans = [getattr(s, phase)(setup, transfer, computing) for s in (fast, paper)]
                took = [evaluate(plan, setup, transfer, computing).seconds for plan in plans]
                assert took[0] == pytest.approx(took[1], rel=1e-11)
                assert len(plans[0]) == len(plans[1])
                for rival in TABLE[:3]:
                    plan = getattr(rival, phase)(setup, transfer, computing)
                    ended = evaluate(plan, setup, transfer, computing).seconds
                    assert took[0] <= ended * (1 + 1e-11)


WORKED = LayerCosts(pull=(1, 1, 2), forward=(1, 3, 1), backward=(2, 6, 2), push=(1, 1, 2))
"""The worked example; its set-up is 2 s in both directions."""


@pytest.mark.parametrize("number", [float, Fraction, int])
def test_the_worked_example(number: Any) -> None:
    pull, forward = [number(t) for t in WORKED.pull], [number(t) for t in WORKED.forward]
    push, backward = [number(t) for t in WORKED.push], [number(t) for t in WORKED.backward]
    two = number(2)
    ends = {
        schedule: (
            timing.pull(schedule.pull(two, pull, forward), two, pull, forward).seconds,
            timing.push(schedule.push(two, push, backward), two, push, backward).seconds,
        )
        for schedule in TABLE
    }
    assert ends[Sequential()] == (11, 16)
    assert ends[LayerByLayer()] == (11, 14)
    assert ends[DynaComm()] == ends[DynaComm(method="paper")] == (9, 14)
    assert DynaComm().pull(two, pull, forward) == ((1, 2), (3, 3))
    assert DynaComm().push(two, push, backward) == ((3, 3), (1, 2))
    assert timing.pull(((1, 1), (2, 3)), two, pull, forward).seconds == 12


def test_the_greedy_schedule_loses() -> None:
    setup, transfer, forward = 3, (6, 1, 6, 3), (5, 5, 1, 5)
    ends = [
        timing.pull(schedule.pull(setup, transfer, forward), setup, transfer, forward).seconds
        for schedule in (DynaComm(), IBatch(), LayerByLayer(), Sequential())
    ]
    assert ends == [28, 30, 33, 35]
    assert DynaComm().pull(setup, transfer, forward) == ((1, 2), (3, 4))


def test_ibatch_hides_each_segment_behind_the_computing_before_it() -> None:
    # after layer 1 (4 s of computing), 1 + 1 + 2 s of transfers are hidden, a third layer is not
    assert IBatch().pull(1, (9, 1, 2, 3), (4, 4, 4, 4)) == ((1, 1), (2, 3), (4, 4))
    assert IBatch().push(1, (9, 1, 2, 3), (4, 4, 4, 4)) == ((4, 4), (2, 3), (1, 1))


@OF_KINDS
def test_a_plan_holds_each_layer_once(schedule: AnySchedule) -> None:
    rng = random.Random("tests/schedules/cover")
    for _ in range(50):
        setup, transfer, computing = instance(rng)
        layers = len(transfer)
        pull = schedule.pull(setup, transfer, computing)
        push = schedule.push(setup, transfer, computing)
        for segments in (pull, push[::-1]):
            held = [layer for a, b in segments for layer in range(a, b + 1)]
            assert held == [*range(1, layers + 1)]


def test_costs_far_apart_are_planned() -> None:
    """Rounding must neither stop the planner nor make it worse than whole messages."""
    transfer, computing = [1e-300, 1e300, 1.0, 1e-9] * 5, [1e300, 1e-300, 1e-9, 1.0] * 5
    for setup in (0.0, 1e-300, 1.0, 1e300):
        plan = DynaComm().pull(setup, transfer, computing)
        took = timing.pull(plan, setup, transfer, computing).seconds
        whole = timing.pull(((1, 20),), setup, transfer, computing).seconds
        assert took <= whole * (1 + 1e-11)


def test_the_timing_of_a_pull() -> None:
    found = timing.pull(((1, 2), (3, 3)), 2, (1, 1, 2), (1, 3, 1))
    assert found.transfers == ((0, 4), (4, 8))
    assert found.computes == ((4, 5), (5, 8), (8, 9))
    assert found.seconds == 9
    assert (found.exposed_transfer, found.overlapped, found.exposed_computing) == (4, 4, 1)


def test_the_timing_of_a_push() -> None:
    found = timing.push(((3, 3), (1, 2)), 2, (1, 1, 2), (2, 6, 2))
    assert found.computes == ((8, 10), (2, 8), (0, 2))
    assert found.transfers == ((2, 6), (10, 14))
    assert found.seconds == 14
    assert (found.exposed_transfer, found.overlapped, found.exposed_computing) == (4, 4, 6)


@pytest.mark.slow
def test_exposed_and_overlapped_times_are_what_the_spans_say() -> None:
    rng = random.Random("tests/schedules/overlap")
    for _ in range(200):
        setup, transfer, computing = instance(rng)
        cuts = rng.choice([*every_cut(len(transfer))])
        for phase in (
            timing.pull(cuts, setup, transfer, computing),
            timing.push(cuts[::-1], setup, transfer, computing),
        ):
            edges = sorted({t for span in (*phase.transfers, *phase.computes) for t in span})
            shares = {(True, False): 0, (True, True): 0, (False, True): 0, (False, False): 0}
            for began, ended in pairwise(edges):
                busy = [
                    any(a <= began and ended <= b for a, b in spans)
                    for spans in (phase.transfers, phase.computes)
                ]
                shares[busy[0], busy[1]] += ended - began
            assert shares[True, False] == phase.exposed_transfer
            assert shares[True, True] == phase.overlapped
            assert shares[False, True] == phase.exposed_computing
            assert shares[False, False] == 0


def test_an_iteration_is_both_phases() -> None:
    costs = LayerCosts(WORKED.pull, WORKED.forward, WORKED.backward, WORKED.push, 2, 2)
    cuts = cut(DynaComm(), costs)
    assert cuts == Cuts(((1, 2), (3, 3)), ((3, 3), (1, 2)))
    found = timing.iteration(cuts, costs)
    assert (found.forward.seconds, found.backward.seconds, found.seconds) == (9, 14, 23)


@OF_KINDS
def test_a_schedule_survives_as_plain_data(schedule: AnySchedule) -> None:
    assert make(plain(schedule)) == schedule


@pytest.mark.parametrize("replan", [0, -1])
def test_replanning_takes_an_iteration_at_least(replan: int) -> None:
    for kind in ("ibatch", "dynacomm"):
        with pytest.raises(ValueError, match=f"{replan} is too small"):
            make({"kind": kind, "replan": replan})


def test_unknown_schedules_are_refused() -> None:
    with pytest.raises(ValueError, match="is not sequential or layer-by-layer or ibatch or"):
        make({"kind": "fifo"})
    with pytest.raises(ValueError, match="method 'slow' is not fast or paper"):
        make({"kind": "dynacomm", "method": "slow"})


@pytest.mark.parametrize(
    "costs",
    [
        ((1.0,), (1.0, 2.0), (1.0,), (1.0,)),
        ((), (), (), ()),
        ((-1.0,), (1.0,), (1.0,), (1.0,)),
        ((1.0,), (float("nan"),), (1.0,), (1.0,)),
        ((1.0,), (1.0,), (float("inf"),), (1.0,)),
    ],
)
def test_costs_that_are_none_are_refused(costs: Any) -> None:
    with pytest.raises(ValueError):
        LayerCosts(*costs)


def test_a_long_net_is_planned_quickly() -> None:
    """`python -m tests.benchmarks schedules` measures it; this bound is for busy hosts."""
    rng = random.Random("tests/schedules/cost")
    transfer = [rng.paretovariate(1.2) * 1e-3 for _ in range(152)]
    computing = [rng.paretovariate(1.2) * 1e-3 for _ in range(152)]
    costs = LayerCosts(*map(tuple, (transfer, computing, computing, transfer)), 1e-3, 1e-3)
    took = []
    for _ in range(10):
        began = time.process_time()
        cut(DynaComm(), costs)
        took.append(time.process_time() - began)
    assert min(took) <= 0.002


def test_every_kind_is_listed() -> None:
    assert {type(schedule) for schedule in TABLE} == {*get_args(schedules.AnySchedule)}
