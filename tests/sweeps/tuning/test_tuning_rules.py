"""Grids, pruning and tie rule of the tuner, as Omnivore's released code has them."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.log.records import UpdateRecord
from emulator.sweeps.tuning.grids import (
    COLD,
    STEADY,
    Setting,
    after_divergence,
    against_previous,
    choose,
    divisors,
    first_grid,
    full_grid,
    halved,
    later_grid,
    second_pass,
)
from emulator.sweeps.tuning.trial_journal import score

RATES = (0.0001, 0.001, 0.01, 0.1)
settings = st.builds(
    Setting, st.just(4), st.sampled_from(RATES), st.sampled_from((0.0, 0.3, 0.6, 0.9))
)


def pairs(grid: list[Setting]) -> list[tuple[float, float]]:
    return [(setting.rate, setting.momentum) for setting in grid]


# -- grids -----------------------------------------------------------------------------------------


def test_the_first_grid_has_four_rates_and_one_momentum() -> None:
    assert pairs(first_grid()) == [(0.0001, 0.9), (0.001, 0.9), (0.01, 0.9), (0.1, 0.9)]
    assert {setting.groups for setting in first_grid()} == {1}


def test_later_grids_have_the_last_rate_and_a_tenth_of_it() -> None:
    assert pairs(later_grid(8, 0.1)) == [
        *((0.01, 0), (0.01, 0.3), (0.01, 0.6), (0.01, 0.9)),
        *((0.1, 0), (0.1, 0.3), (0.1, 0.6), (0.1, 0.9)),
    ]
    assert later_grid(8, 0.001)[0].rate == 0.0001  # not 0.00010000000000000002


@pytest.mark.parametrize(
    ("momentum", "finer"),
    [
        (0.0, (0, 0.1, 0.2)),
        (0.3, (0.1, 0.2, 0.3, 0.4, 0.5)),
        (0.6, (0.4, 0.5, 0.6, 0.7, 0.8)),
        (0.9, (0.7, 0.8, 0.9)),
    ],
)
def test_the_second_pass_has_finer_momenta(momentum: float, finer: tuple[float, ...]) -> None:
    grid = second_pass(Setting(4, 0.01, momentum))
    assert pairs(grid) == [(0.01, value) for value in finer]


def test_the_exhaustive_grid_has_every_combination() -> None:
    grid = full_grid([4, 1], (0.1, 0.01))
    assert len(set(grid)) == 2 * 2 * 4
    assert (grid[0], grid[-1]) == (Setting(1, 0.01, 0.0), Setting(4, 0.1, 0.9))


@given(st.integers(1, 200))
def test_groups_are_divisors_and_are_halved_to_divisors(devices: int) -> None:
    numbers = divisors(devices)
    assert (numbers[0], numbers[-1]) == (1, devices)
    for groups in numbers[1:]:
        fewer = halved(groups, devices)
        assert fewer in numbers
        assert fewer <= max(1, groups // 2)
    assert halved(1, devices) == 1


def test_twelve_devices_are_halved_by_divisors() -> None:
    assert [halved(groups, 12) for groups in (12, 6, 4, 3, 2)] == [6, 3, 2, 1, 1]


# -- pruning ---------------------------------------------------------------------------------------


def test_pruning_against_fewer_groups() -> None:
    """Skip η > η_last, or η = η_last and μ > μ_last, or η < η_last and μ < μ_last."""
    left = [s for s in later_grid(8, 0.1) if not against_previous(s, Setting(4, 0.1, 0.3))]
    assert pairs(left) == [(0.01, 0.3), (0.01, 0.6), (0.01, 0.9), (0.1, 0), (0.1, 0.3)]
    assert "rate above 0.01" in against_previous(Setting(8, 0.1, 0), Setting(4, 0.01, 0.9))
    assert against_previous(Setting(8, 0.1, 0.9), None) == ""


@given(settings, settings)
def test_no_more_of_either_than_fewer_groups_bear(setting: Setting, last: Setting) -> None:
    pruned = (
        setting.rate > last.rate
        or (setting.rate == last.rate and setting.momentum > last.momentum)
        or (setting.rate < last.rate and setting.momentum < last.momentum)
    )
    assert bool(against_previous(setting, last)) == pruned
    assert not against_previous(last, last)


@given(settings, st.lists(settings, max_size=3))
def test_a_divergence_rules_out_all_that_is_no_smaller(
    setting: Setting, diverged: list[Setting]
) -> None:
    worse = any(
        setting.rate >= other.rate and setting.momentum >= other.momentum for other in diverged
    )
    assert bool(after_divergence(setting, diverged)) == worse


# -- tie rule --------------------------------------------------------------------------------------


def losses(table: Mapping[tuple[float, float], float]) -> dict[Setting, float]:
    return {Setting(4, rate, momentum): loss for (rate, momentum), loss in table.items()}


@pytest.mark.parametrize(
    ("table", "buffer", "chosen"),
    [
        # the least loss, when nothing larger is almost as good
        ({(0.01, 0.9): 1.0, (0.1, 0.0): 1.02, (0.1, 0.3): 1.5}, STEADY, (0.01, 0.9)),
        # the last one in ascending order below the limit, not the best of them
        ({(0.01, 0.9): 1.0, (0.1, 0.0): 1.001, (0.1, 0.3): 1.009}, STEADY, (0.1, 0.3)),
        # a gap between does not matter
        ({(0.01, 0.9): 1.0, (0.1, 0.0): 9.0, (0.1, 0.3): 1.009}, STEADY, (0.1, 0.3)),
        # exactly at the limit is not below it
        ({(0.01, 0.9): 1.0, (0.1, 0.0): 1.01}, STEADY, (0.01, 0.9)),
        # smaller settings are never preferred
        ({(0.01, 0.9): 1.001, (0.1, 0.0): 1.0}, STEADY, (0.1, 0.0)),
        # at the cold start the least loss wins
        ({(0.01, 0.9): 1.0, (0.1, 0.0): 1.0001}, COLD, (0.01, 0.9)),
        # among equal losses the first in ascending order
        ({(0.1, 0.0): 1.0, (0.01, 0.9): 1.0}, COLD, (0.01, 0.9)),
    ],
)
def test_the_tie_rule(
    table: dict[tuple[float, float], float], buffer: float, chosen: tuple[float, float]
) -> None:
    assert choose(losses(table), buffer)[1:] == chosen


@pytest.mark.slow
@given(st.dictionaries(settings, st.floats(0.01, 10), min_size=1))
def test_the_choice_is_almost_the_best(table: dict[Setting, float]) -> None:
    chosen = choose(table, STEADY)
    assert table[chosen] <= min(table.values()) * STEADY
    assert table[choose(table, COLD)] == min(table.values())


# -- score -----------------------------------------------------------------------------------------


def update(at: float, node: str, loss: float | None) -> UpdateRecord:
    return UpdateRecord(at, node, 0, 0, 0, 1.0, loss, 0.0, 1, 4, 0, 0, 0)


def test_the_score_is_the_mean_of_the_last_ten_of_every_fifth_loss() -> None:
    group, batches = {"a": 0, "b": 0}, {"a": 3, "b": 1}
    steps = [
        record
        for step in range(1, 63)
        # the mini-batch of the group weighs its members: the step's loss is `step`
        for record in (update(step, "a", step - 1.0), update(step, "b", step + 3.0))
    ]
    facts = score(steps, group, batches)
    assert facts["group_updates"] == 62
    assert facts["update_seconds"] == 1.0
    assert [at for at, _ in facts["displayed"]] == list(range(5, 61, 5))
    assert facts["loss"] == sum(range(15, 61, 5)) / 10
    assert facts["half_loss"] == sum(range(31, 63)) / 32  # from second 31 of 62


def test_steps_of_two_groups_at_one_time_are_two() -> None:
    group, batches = {"a": 0, "b": 1}, {"a": 1, "b": 1}
    steps = [update(step, node, 1.0) for step in range(5) for node in "ab"]
    assert score(steps, group, batches)["group_updates"] == 10


@pytest.mark.parametrize("updates", range(17, 25))
def test_bursts_of_groups_are_timed_over_whole_cycles(updates: int) -> None:
    """Eight groups update at once, then nobody for 8 s: a second for each update."""
    group = {name: number for number, name in enumerate("abcdefgh")}
    steps = [update(8.0 * (step // 8), "abcdefgh"[step % 8], 1.0) for step in range(updates)]
    batches = dict.fromkeys(group, 1)
    assert score(steps, group, batches)["update_seconds"] == 1.0


def test_a_group_that_updates_once_counts_with_the_others() -> None:
    steps = [update(0.0, "a", 1.0), update(2.0, "a", 1.0), update(3.0, "b", 1.0)]
    assert score(steps, {"a": 0, "b": 1}, {"a": 1, "b": 1})["update_seconds"] == 1.5


def test_a_loss_that_is_not_finite_is_a_divergence() -> None:
    steps = [update(step, "a", 1.0 if step else None) for step in range(60)]
    assert score(steps, {"a": 0}, {"a": 1})["loss"] is None
    assert score(steps[:2], {"a": 0}, {"a": 1})["half_loss"] == 1.0
    assert score([], {}, {})["loss"] is score([], {}, {})["half_loss"] is None
