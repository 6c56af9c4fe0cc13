"""Order statistics and played rounds of compute groups, against closed forms and draws."""

from random import Random

import pytest

from emulator.costs.compute_groups import PacedMember, TimedMember, mean_round, served, slowest
from emulator.units import Seconds
from emulator.world.laws import Exponential, Fixed, LogNormal, Normal, Uniform, Weibull

SECOND = Exponential(Seconds(1))


@pytest.mark.parametrize("members", [1, 2, 16, 1000])
def test_the_slowest_of_exponential_times_takes_the_harmonic_number(members):
    harmonic = sum(1 / number for number in range(1, members + 1))
    assert slowest([TimedMember(0.5, 2.0, SECOND, members)]) == pytest.approx(
        0.5 + 2 * harmonic, rel=1e-3
    )


def test_the_slowest_of_uniform_times_lies_at_k_of_k_plus_1():
    law = Uniform((Seconds(1), Seconds(3)))
    assert slowest([TimedMember(0, 1, law, 4)]) == pytest.approx(1 + 2 * 4 / 5, rel=1e-4)


def test_fixed_times_take_the_largest():
    law = Fixed(Seconds(2))
    assert (
        slowest([TimedMember(1, 1, law, 3), TimedMember(0, 2, law), TimedMember(3.5, 0, SECOND)])
        == 4
    )


def test_a_fixed_time_is_a_lower_bound_among_random_ones():
    # max(1, X) = 1 + (X - 1)+, whose mean is 1 + 1/e
    found = slowest([TimedMember(1, 1, Fixed(Seconds(0))), TimedMember(0, 1, SECOND)])
    assert found == pytest.approx(1 + 0.367879, rel=1e-3)


LAWS = [
    SECOND,
    Uniform((Seconds(0.2), Seconds(2))),
    Weibull((Seconds(1), 0.8)),
    Normal((Seconds(1), Seconds(0.4))),
    LogNormal((Seconds(1), 0.5)),
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_every_law_agrees_with_its_draws(law):
    members = [TimedMember(0, 1, law, 3), TimedMember(0.1, 0.5, law, 2)]
    dice = Random(1)
    drawn = [
        max(
            member.shift + member.scale * law.draw(dice)
            for member in members
            for _ in range(member.count)
        )
        for _ in range(4000)
    ]
    assert slowest(members) == pytest.approx(sum(drawn) / len(drawn), rel=0.04)


def paced(work, core, before=0.0):
    return PacedMember(before, 1.0, Fixed(Seconds(work)), 0.0, core)


def test_a_step_within_the_budget_is_not_slowed_down():
    assert mean_round([paced(0.015, 0.2)], rest=0.2) == pytest.approx(0.015)


def test_a_device_without_rest_works_at_its_quota():
    assert mean_round([paced(0.08, 0.2)]) == pytest.approx(0.4, rel=0.05)


def test_a_wait_within_a_period_costs_a_limited_device_nothing():
    # the budget of a period is spent after 20 ms, and the 50 ms of waiting fall into the rest
    conv = mean_round([paced(0.08, 0.2)], rest=0.05)
    assert conv + 0.05 == pytest.approx(0.4, rel=0.02)


def test_a_round_waits_for_the_slowest():
    members = [paced(0.01, 1.0), paced(0.01, 1.0, before=0.3), paced(0.05, 0.5)]
    assert mean_round(members) == pytest.approx(0.31)


def test_equal_updates_are_served_one_after_the_other():
    assert served([TimedMember(1, 1, Fixed(Seconds(2)), 4)], 0.5) == pytest.approx(3 + 4 * 0.5)
    rounds = mean_round([paced(3, 1.0)] * 4, serve=0.5)
    assert rounds == pytest.approx(3 + 4 * 0.5)


def test_early_updates_are_served_while_late_ones_are_under_way():
    early, late = TimedMember(0, 1, Fixed(Seconds(1)), 3), TimedMember(0, 1, Fixed(Seconds(9)))
    assert served([early, late], 0.5) == pytest.approx(9.5)


def test_services_of_random_arrivals_overlap():
    dice, rounds = Random(2), []
    for _ in range(4000):
        free = 0.0
        for arrival in sorted(dice.expovariate(1) for _ in range(8)):
            free = max(free, arrival) + 0.25
        rounds.append(free)
    assert served([TimedMember(0, 1, SECOND, 8)], 0.25) == pytest.approx(
        sum(rounds) / len(rounds), rel=0.03
    )
