"""Random fleets and the tables that judge the tuner on them."""

import math

import pytest

from analysis.papers.fresh_fleets import Choice, FreshFleet, Tuned, choices, claims
from emulator.sweeps.tuning import TuneOptions, check
from tests.benchmarks.tuning.random_fleets import (
    DEVICES,
    FINDING,
    JUDGING,
    RATES,
    TASKS,
    random_fleet,
)
from tests.fakes.sweeps.tuned_results import line, told

# -- fleets ----------------------------------------------------------------------------------------

ALL = [random_fleet(seed) for seed in (*FINDING, *JUDGING)]


def test_a_seed_draws_one_fleet() -> None:
    assert random_fleet(7) == random_fleet(7)
    assert len(set(ALL)) == len(ALL) == 36


def test_no_fleet_both_finds_and_judges() -> None:
    assert not set(FINDING) & set(JUDGING)


@pytest.mark.parametrize("seeds", [FINDING, JUDGING])
def test_each_set_has_all_tasks_and_all_kinds_of_steps(seeds: tuple[int, ...]) -> None:
    fleets = [random_fleet(seed) for seed in seeds]
    assert {fleet.task for fleet in fleets} == set(TASKS)
    assert {fleet.law.split(":")[0] for fleet in fleets if ":" in fleet.law} == {
        "{lognormal",
        "{exponential",
    }
    assert any(":" not in fleet.law for fleet in fleets)
    assert min(DEVICES) <= min(fleet.devices for fleet in fleets)
    assert len({fleet.devices for fleet in fleets}) > 3
    assert len({fleet.batch for fleet in fleets}) > 1


def test_every_fleet_can_be_tuned() -> None:
    for fleet in ALL:
        check(fleet.scenario, TuneOptions(rates=RATES))
        assert len(fleet.scenario.nodes) == fleet.devices == sum(count for count, _ in fleet.parts)
        assert fleet.scenario.stop.loss == fleet.task.loss


# -- tables ----------------------------------------------------------------------------------------

FIRST, SECOND, THIRD = (1, 0.1, 0.9), (2, 0.1, 0.6), (4, 0.01, 0.0)
TIMES = {FIRST: [4.0, 9.0, 5.0], SECOND: [6.0, 6.0, 1.0], THIRD: [1.0, math.inf, math.inf]}


def fleet(ours: list[Choice], paper: list[Choice], probes: float = 10.0) -> FreshFleet:
    """Return a fleet whose three tunings made these choices, each by probes of so many seconds."""
    rules = {
        name: [Tuned(seed, choice, probes) for seed, choice in enumerate(chosen, 1)]
        for name, chosen in {"default": ours, "paper": paper}.items()
    }
    return FreshFleet("7", "eight devices", TIMES, [100.0, 50.0, 200.0], rules)


def test_a_time_is_the_median_over_the_seeds() -> None:
    made = fleet([FIRST] * 3, [SECOND] * 3)
    assert made.best == FIRST  # not the setting with the luckiest run
    assert made.ratios("default") == [1, 1, 1]
    assert made.ratios("paper") == [1.2, 1.2, 1.2]
    assert made.shares("default") == [0.1, 0.2, 0.05]


def test_a_choice_that_misses_the_target_is_worse_than_any() -> None:
    made = claims([fleet([FIRST, SECOND, FIRST], [FIRST, THIRD, FIRST])])
    assert told(made, "by the rule default, the median") == ("reproduced", "1.00 (median of 3)")
    assert told(made, "by the rule default, every choice") == (
        "reproduced",
        "1.00 (fleet 7, seed 1) to 1.20 (fleet 7, seed 2)",
    )
    assert told(made, "by the rule paper, every choice") == (
        "partly",
        "1.00 (fleet 7, seed 1) to missed (fleet 7, seed 2)",
    )


def test_each_tuning_must_be_cheap() -> None:
    claim = "by the rule default, probes cost at most 20 % of the exhaustive search"
    cheap, dear = (claims([fleet([FIRST] * 3, [FIRST] * 3, probes)]) for probes in (10.0, 10.5))
    assert told(cheap, claim) == (
        "reproduced",
        "5.0 % (fleet 7, seed 3) to 20.0 % (fleet 7, seed 2)",
    )
    assert told(dear, claim)[0] == "partly"


def test_the_table_names_choices_once() -> None:
    made = choices([fleet([FIRST, SECOND, FIRST], [FIRST] * 3)])
    assert line(made, "7") == [
        "eight devices",
        "5 s (1, 0.1, 0.9)",
        *("1, 0.1, 0.9; 2, 0.1, 0.6", "1.00, 1.20, 1.00", "10.0 %"),
        *("1, 0.1, 0.9", "1.00, 1.00, 1.00", "10.0 %"),
    ]
