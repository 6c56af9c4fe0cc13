"""The study of devices that crash: who crashes in its worlds, and when."""

from itertools import pairwise

from emulator.scenario import load
from emulator.scenario.timeline.compiled import timeline
from emulator.sweeps.studies import STUDIES

RELIABILITY = STUDIES["reliability"]
CRASH_RATES = (0, 10, 20, 30, 40, 50)
UP_TIMES = (12.5, 25, 50, 100)
SEEDS = 3
PUSHES = "in each setting, AdaComp pushes"

# -- what is played --------------------------------------------------------------------------------


def struck(world: str) -> dict[str, set[str]]:
    """Return the devices that crash in `world` with the first seed, by algorithm."""
    found = {}
    for entry in RELIABILITY.entries:
        if entry.world == world:
            scenario = entry.point(entry.rates[0]).scenario
            actions = [timed.action for timed in timeline(scenario)]
            found[entry.name] = {action.node for action in actions if action.verb == "kill"}
    return found


def test_the_same_share_of_devices_crashes_under_both_algorithms() -> None:
    for share in CRASH_RATES:
        asgd, adacomp = struck(f"crash rate {share} %").values()
        assert asgd == adacomp
        assert len(asgd) == share / 100 * 20


def test_who_crashes_at_a_low_rate_crashes_at_a_higher_rate_too() -> None:
    drawn = [struck(f"crash rate {share} %")["ASGD"] for share in CRASH_RATES]
    assert all(fewer < more for fewer, more in pairwise(drawn))


def test_all_devices_crash_and_come_back_by_the_mean_time_between_failures() -> None:
    for up in UP_TIMES:
        assert len(struck(f"MTBF {up} s")["AdaComp"]) == 20


def test_each_algorithm_keeps_the_rate_that_is_best_without_crashes() -> None:
    tuned = {e.name: e.rates for e in RELIABILITY.entries if e.world == "crash rate 0 %"}
    for entry in RELIABILITY.entries:
        assert entry.world == "crash rate 0 %" or len(entry.rates) == 1
        assert set(entry.rates) <= set(tuned[entry.name])


def test_the_scenario_is_a_point_of_the_study() -> None:
    scenario = load(RELIABILITY.scenario)
    entry = next(
        e for e in RELIABILITY.entries if (e.world, e.name) == ("crash rate 30 %", "AdaComp")
    )
    assert entry.point(entry.rates[0]).scenario == scenario
