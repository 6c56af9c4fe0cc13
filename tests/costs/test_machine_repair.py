"""The models of hardware efficiency, against published measurements and against other solutions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.costs.machine_repair import GroupCycle, conv_time, formula, queue, saturation

PUBLISHED = (
    *(1.2010, 0.6027, 0.3960, 0.3001, 0.2404, 0.2024, 0.1718, 0.1496),
    *(0.1335, 0.1206, 0.1094, 0.1005, 0.0935, 0.0880, 0.0824, 0.0777),
)
"""Seconds per update with 1, 2, …, 16 groups of a single machine each: the timing logs that were
published with the code of Omnivore (Hadjis et al., arXiv 1606.04487), in which the groups were
started one after the other."""

FITTED = GroupCycle(1.15, (0.0425,))
"""t_conv + t_fc = 1.1925 s and t_fc = 0.0425 s, fitted to these measurements."""

TIMES = st.floats(1e-4, 1e3)
CYCLES = st.builds(lambda conv, fc: GroupCycle(conv, (fc,)), st.floats(0, 1e3), TIMES)
GROUPS = st.integers(1, 64)


def worst(model):
    """Return the largest relative error of `model` over the published measurements."""
    predicted = [model(groups, FITTED) for groups in range(1, len(PUBLISHED) + 1)]
    return max(abs(np.divide(predicted, PUBLISHED) - 1))


def test_the_formula_meets_the_published_measurements_within_4_5_percent():
    assert worst(formula) < 0.045


def test_the_queue_meets_the_published_measurements_within_1_2_percent():
    assert worst(queue) < 0.012


@given(CYCLES, GROUPS)
def test_the_formula_is_a_lower_bound_of_the_queue(cycle, groups):
    assert formula(groups, cycle) <= queue(groups, cycle) * (1 + 1e-12)


@given(CYCLES, GROUPS)
def test_more_groups_never_make_updates_rarer(cycle, groups):
    for model in (formula, queue):
        assert model(groups + 1, cycle) <= model(groups, cycle) * (1 + 1e-12)


@given(CYCLES)
def test_a_group_alone_takes_its_whole_cycle(cycle):
    assert formula(1, cycle) == cycle.total
    assert queue(1, cycle) == pytest.approx(cycle.total)


@given(CYCLES)
def test_many_groups_take_the_time_of_the_server(cycle):
    many = min(100_000, 10 * math.ceil(cycle.total / cycle.serial[0]) + 100)
    if many < 100_000:
        assert formula(many, cycle) == cycle.serial[0]
        assert queue(many, cycle) == pytest.approx(cycle.serial[0], rel=1e-3)


def markov(groups, conv, fc):
    """Return seconds per update from the balance of the Markov chain: j groups at the server.

    Groups arrive at rate (g - j)/t_conv and leave at rate 1/t_fc.
    """
    weights = [1.0]
    for waiting in range(groups):
        weights.append(weights[-1] * (groups - waiting) * fc / conv)
    idle = weights[0] / sum(weights)
    return fc / (1 - idle)


@given(st.floats(1e-2, 10), st.floats(1e-2, 10), st.integers(1, 30))
def test_the_queue_is_the_stationary_markov_chain(conv, fc, groups):
    assert queue(groups, GroupCycle(conv, (fc,))) == pytest.approx(markov(groups, conv, fc))


def played(groups, conv, fc, seed=0, updates=20_000):
    """Return seconds per update of a played queue with constant t_conv and exponential t_fc."""
    services = np.random.default_rng(seed).exponential(fc, updates)
    ready, free = [conv] * groups, 0.0
    for service in services:
        first = min(range(groups), key=ready.__getitem__)
        free = max(free, ready[first]) + service
        ready[first] = free + conv
    return free / updates


@pytest.mark.parametrize("groups", [2, 5])
def test_the_queue_holds_for_any_law_of_t_conv(groups):
    # 20,000 exponential services: their mean has a standard error of 0.7 %
    assert queue(groups, GroupCycle(0.3, (0.1,))) == pytest.approx(
        played(groups, 0.3, 0.1), rel=0.03
    )


@given(CYCLES, GROUPS, TIMES)
def test_a_second_shared_resource_only_slows_down(cycle, groups, time):
    more = GroupCycle(cycle.conv, (*cycle.serial, time))
    for model in (formula, queue):
        assert model(groups, more) >= model(groups, cycle) * (1 - 1e-12)


def constant(conv, fc):
    return lambda groups: GroupCycle(conv, (fc,))


@pytest.mark.parametrize(
    ("conv", "fc", "found"), [(1.15, 0.0425, 29), (0.8, 0.1, 9), (0.3, 0.1, 4), (0.0, 1.0, 1)]
)
def test_saturation_is_the_least_number_of_groups_that_keeps_the_server_busy(conv, fc, found):
    assert saturation(16, constant(conv, fc)) == found


def test_a_server_that_takes_no_time_is_never_saturated():
    assert saturation(16, constant(1.0, 0.0)) is None


def test_saturation_takes_the_t_conv_of_each_group_size():
    def cycle_of(groups):
        return GroupCycle(conv_time(1.6, 0.0, 16 / groups), (0.1,))

    # g · 0.1 stays below t_conv(16/g) + t_fc = 0.1 g + 0.1 for all 16 devices; more of them would
    # have t_conv(1) = 1.6 s each
    assert saturation(16, cycle_of) == 17


def test_conv_time_combines_compute_and_traffic():
    assert conv_time(8.0, 0.5, 4) == 2.0
    assert conv_time(8.0, 0.5, 8) == 4.0
    assert conv_time(8.0, 0.5, 4, "sum") == 4.0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: GroupCycle(-1, (1,)), "t_conv is -1: write seconds from 0 up"),
        (lambda: GroupCycle(1, (math.inf,)), "t_fc is inf: write seconds from 0 up"),
        (lambda: GroupCycle(math.nan, (1,)), "t_conv is nan"),
        (lambda: GroupCycle(1, ()), "serial is empty"),
        (lambda: GroupCycle(0, (0,)), "both 0"),
        (lambda: formula(0, FITTED), "0 groups: there is at least 1"),
        (lambda: queue(-1, FITTED), "-1 groups"),
        (lambda: conv_time(1, 1, 0), "0 members"),
    ],
)
def test_impossible_inputs_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()
