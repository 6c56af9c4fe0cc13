"""The scheduler on devices with known costs: estimates, plans, predictions, records."""

import sys
from typing import Any

import msgspec
import pytest

from emulator.core.scheduling.prior_costs import LinkEstimate
from emulator.log.records.plan_records import PlanRecord
from emulator.schedules import (
    Cuts,
    DynaComm,
    IBatch,
    LayerByLayer,
    LayerCosts,
    Schedule,
    cut,
    timing,
)
from tests.fakes.core.synthetic_device import COSTS, EVERY, ZERO, factors, planned_device

replace = msgspec.structs.replace


def layer_costs(costs: Any = COSTS) -> LayerCosts:
    """Return the exact costs of the synthetic device, a segment's head as part of its set-up."""
    return LayerCosts(
        tuple(size * costs.down.pace for size in costs.pull),
        costs.forward,
        costs.backward,
        tuple(size * costs.up.pace for size in costs.push),
        costs.down.setup + costs.head * costs.down.pace,
        costs.up.setup + costs.head * costs.up.pace,
    )


@pytest.mark.parametrize("schedule", [LayerByLayer(), IBatch(EVERY), DynaComm(EVERY)], ids=str)
def test_without_noise_the_prediction_is_exact(schedule: Schedule) -> None:
    played = planned_device(schedule)
    played.iterate(3 * 50 + 1)
    expected = timing.iteration(cut(schedule, layer_costs()), layer_costs())
    assert len(played.reports.iterations) == 3 * 50 // getattr(schedule, "replan", 50)
    for record in played.reports.iterations:
        assert record.t_forward == pytest.approx(expected.forward.seconds, rel=1e-9)
        assert record.t_backward == pytest.approx(expected.backward.seconds, rel=1e-9)
        assert record.predicted_forward == pytest.approx(record.t_forward, rel=1e-9)
        assert record.predicted_backward == pytest.approx(record.t_backward, rel=1e-9)
    first, second = played.reports.plans[:2]
    assert (first.pull, first.push) == (second.pull, second.push)
    # a pull, its answer's propagation, and nothing else
    assert second.t_iteration == pytest.approx(expected.seconds + 0.050 + 0.020, rel=1e-9)
    assert played.reports.iterations[1].t_iteration == pytest.approx(second.t_iteration, rel=1e-9)


def test_no_iteration_is_shorter_than_its_phases() -> None:
    """The pull that ends the first iteration is sent while the update still waits for the link."""
    played = planned_device(DynaComm(1))
    played.iterate(3)
    first, second = played.reports.iterations[:2]
    for record in (first, second):
        rest = record.t_iteration - record.t_forward - record.t_backward
        assert rest == pytest.approx(0.050 + 0.020, rel=1e-9)


def test_the_trace_is_the_gantt_chart() -> None:
    played = planned_device()
    played.iterate(EVERY + 1)
    (plan, _), (record,) = played.reports.plans, played.reports.iterations
    for name in ("pulled", "forward", "backward", "pushed"):
        assert_spans(getattr(record, name), getattr(plan, name))
    assert record.at == pytest.approx(played.reports.plans[1].at)
    assert plan.at == 0.0
    assert (plan.iteration, record.iteration, record.iterations) == (1, EVERY, EVERY)
    assert len(plan.pull) > 1 < len(plan.push)


def assert_spans(found: Any, expected: Any) -> None:
    assert len(found) == len(expected)
    for span, known in zip(found, expected, strict=True):
        assert span == pytest.approx(known, abs=1e-9)


@pytest.mark.parametrize("single_threaded", [False, True])
def test_jitter_moves_the_estimates_by_little(single_threaded: bool) -> None:
    wrong = replace(
        COSTS,
        forward=(0.1,) * 4,
        backward=(0.001,) * 4,
        pull=(1e5,) * 4,
        push=(1e3,) * 4,
        down=LinkEstimate(0.001, 1e-6, 0.020),
        up=LinkEstimate(0.1, 1e-8, 0.030),
    )
    rng = factors("late", 1.0)
    played = planned_device(
        DynaComm(50),
        prior=wrong,
        noise=factors(f"noise {single_threaded}", 0.05),
        late=lambda: 0.001 * rng(),
        single_threaded=single_threaded,
    )
    played.iterate(4 * 50 + 1)
    plan = played.reports.plans[-1]
    exact = layer_costs()
    assert plan.down_rate == pytest.approx(COSTS.down.rate, rel=0.05)
    assert plan.up_rate == pytest.approx(COSTS.up.rate, rel=0.05)
    # with one thread only slow pieces are waited for, and only their arrivals are known
    bias = 0.002 if single_threaded else 0.001
    assert plan.pull_setup == pytest.approx(exact.pull_setup, abs=bias)
    assert plan.push_setup == pytest.approx(exact.push_setup, abs=0.001)
    mean = 1 + 0.03 * 2  # outliers included
    for found, known in (
        (plan.forward_times, COSTS.forward),
        (plan.backward_times, COSTS.backward),
    ):
        assert found == pytest.approx([mean * seconds for seconds in known], rel=0.1)
    best = timing.iteration(cut(DynaComm(), exact), exact).seconds
    took = timing.iteration(Cuts(tuple(plan.pull), tuple(plan.push)), exact).seconds
    assert took <= 1.01 * best
    record = played.reports.iterations[-1]
    assert record.predicted_forward == pytest.approx(record.t_forward, rel=0.05)
    assert record.predicted_backward == pytest.approx(record.t_backward, rel=0.05)
    assert record.predicted_iteration == pytest.approx(record.t_iteration, rel=0.05)


@pytest.mark.parametrize("direction", ["down", "up"])
def test_a_link_that_halves_its_rate_shows_in_the_next_plan(direction: str) -> None:
    played = planned_device(noise=factors(f"halves {direction}", 0.02))
    played.iterate(2 * EVERY)
    link = getattr(COSTS, direction)
    slow = replace(link, pace=2 * link.pace)
    played.costs = replace(COSTS, **{direction: slow})
    played.iterate(EVERY + 1)
    before, after = played.reports.plans[-2:]
    rate = f"{direction}_rate"
    assert getattr(before, rate) == pytest.approx(link.rate, rel=0.05)
    assert getattr(after, rate) == pytest.approx(link.rate / 2, rel=0.05)
    other = "up_rate" if direction == "down" else "down_rate"
    assert getattr(after, other) == pytest.approx(getattr(before, other), rel=0.05)


@pytest.mark.parametrize("direction", ["down", "up"])
def test_no_rate_above_the_links_own_is_planned_with(direction: str) -> None:
    """A link that seems twice as fast as its scenario has it was measured wrong."""
    link = getattr(COSTS, direction)
    prior = replace(COSTS, least_down=COSTS.down.pace, least_up=COSTS.up.pace)
    played = planned_device(prior=prior)
    played.costs = replace(COSTS, **{direction: replace(link, pace=link.pace / 2)})
    played.iterate(2 * EVERY)
    plan = played.reports.plans[-1]
    assert len(played.reports.plans) > 1
    assert (plan.down_rate, plan.up_rate) == pytest.approx(
        (COSTS.down.rate, COSTS.up.rate), rel=0.01
    )


def test_a_processor_that_slows_shows_in_the_next_plan() -> None:
    played = planned_device(noise=factors("slows", 0.02))
    played.iterate(2 * EVERY)
    slow = tuple(3 * seconds for seconds in COSTS.forward)
    played.costs = replace(COSTS, forward=slow)
    played.iterate(EVERY + 1)
    before, after = played.reports.plans[-2:]
    assert sum(before.forward_times) == pytest.approx(sum(COSTS.forward), rel=0.15)
    assert sum(after.forward_times) == pytest.approx(sum(slow), rel=0.15)
    assert sum(after.backward_times) == pytest.approx(sum(COSTS.backward), rel=0.15)


def test_updates_that_shrink_show_in_the_plans() -> None:
    """The bytes that a codec sends depend on the data.

    The times of the last iteration under a plan come in after the next plan.
    """
    played = planned_device()
    played.iterate(EVERY)
    played.costs = replace(COSTS, push=tuple(size / 10 for size in COSTS.push))
    played.iterate(2 * EVERY + 1)
    before, after = played.reports.plans[1].push_times, played.reports.plans[-1].push_times
    assert after == pytest.approx([seconds / 10 for seconds in before], rel=0.01)


def test_whole_messages_tell_the_rate_and_keep_the_setup() -> None:
    """With a huge set-up there is a single segment, so all transfers have the same size."""
    down = LinkEstimate(setup=5.0, pace=1e-7)
    prior = replace(COSTS, down=down, up=down)
    played = planned_device(prior=prior, costs=prior)
    played.iterate(EVERY)
    played.costs = replace(prior, down=replace(down, pace=4e-7))
    played.iterate(EVERY + 1)
    plan = played.reports.plans[-1]
    assert plan.pull == plan.push == [(1, 4)]
    assert plan.down_rate == pytest.approx(down.rate / 4, rel=1e-6)
    assert plan.pull_setup == pytest.approx(5.0, rel=1e-4)


def test_a_restarted_device_begins_with_the_prior() -> None:
    first = planned_device()
    first.costs = replace(COSTS, up=replace(COSTS.up, pace=1e-6))
    first.iterate(3 * EVERY)
    again = planned_device()
    again.iterate()
    (plan,) = again.reports.plans
    exact = layer_costs()
    assert plan.down_rate == COSTS.down.rate
    assert plan.forward_times == [*COSTS.forward]
    assert plan.pull_times == pytest.approx([*exact.pull])
    assert (tuple(plan.pull), tuple(plan.push)) == tuple(vars(cut(DynaComm(), exact)).values())


def test_a_plan_is_made_every_so_many_iterations() -> None:
    played = planned_device(DynaComm(replan=7))
    played.iterate(22)
    assert [plan.iteration for plan in played.reports.plans] == [1, 8, 15, 22]
    assert [record.iteration for record in played.reports.iterations] == [7, 14, 21]
    assert [record.iterations for record in played.reports.iterations] == [7, 7, 7]


def test_replanning_every_iteration() -> None:
    played = planned_device(DynaComm(replan=1))
    played.iterate(5)
    assert [plan.iteration for plan in played.reports.plans] == [1, 2, 3, 4, 5]
    assert [record.iteration for record in played.reports.iterations] == [1, 2, 3, 4]


def test_the_last_iterations_are_reported_at_the_end() -> None:
    played = planned_device()
    played.iterate(EVERY + 4)
    played.scheduler.close(played.now)
    played.scheduler.close(played.now)
    assert [record.iterations for record in played.reports.iterations] == [EVERY, 3]
    assert played.reports.iterations[-1].at == pytest.approx(played.now - ZERO)


# -- records -------------------------------------------------------------------------------------


def test_records_survive_as_json() -> None:
    played = planned_device()
    played.iterate(EVERY + 1)
    for record in (*played.reports.plans, *played.reports.iterations):
        assert msgspec.json.decode(msgspec.json.encode(record), type=type(record)) == record


def test_a_link_without_a_rate_has_none_on_record() -> None:
    costs = changed_links(LinkEstimate(), LinkEstimate())
    played = planned_device(prior=costs, costs=costs)
    played.iterate(EVERY + 1)
    for plan in played.reports.plans:
        assert plan.down_rate is None or plan.down_rate > 1e12  # rounding makes a rate of nothing
        assert isinstance(plan, PlanRecord)


def changed_links(down: LinkEstimate, up: LinkEstimate) -> Any:
    return replace(COSTS, down=down, up=up)


def test_memory_stays_bounded() -> None:
    """A scheduler holds as much after many iterations as after a few hundred."""
    played = planned_device(DynaComm(replan=10**9))
    played.iterate(400)
    before = footprint(played.scheduler)
    played.reports.iterations.clear()
    played.iterate(1200)
    assert footprint(played.scheduler) <= 1.01 * before


def footprint(root: object) -> int:
    """Return the bytes of `root` and of everything that it refers to, classes aside."""
    seen: dict[int, object] = {}
    queue = [root]
    while queue:
        item = queue.pop()
        if id(item) in seen or isinstance(item, type):
            continue
        seen[id(item)] = item
        if isinstance(item, dict):
            queue += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple | set) or type(item).__name__ == "deque":
            queue += list(item)  # type: ignore[arg-type]
        elif hasattr(item, "__dict__") and not callable(item):
            queue.append(vars(item))
    return sum(map(sys.getsizeof, seen.values()))
