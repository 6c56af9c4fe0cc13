"""The tuner's own rule against made-up losses: rounds, what they keep, and what follows."""

from collections import defaultdict
from collections.abc import Callable
from itertools import chain, pairwise

import pytest

from emulator.sweeps.tuning.algorithm_one import EPOCH, STEADY_PROBE
from emulator.sweeps.tuning.grids import Setting
from emulator.sweeps.tuning.search import Trial
from emulator.sweeps.tuning.successive_halving import KEPT, ROUNDS
from tests.sweeps.tuning.driven_algorithm import LINEAR, drive

BEST = Setting(2, 0.1, 0.6)
RATES = (0.1, 0.01, 0.001, 0.0001)
GRID = len(LINEAR) * len(RATES) * 4


def near(best: Setting) -> Callable[[Trial], float]:
    """Return losses that grow with the distance from `best`."""

    def loss(trial: Trial) -> float:
        groups, rate, momentum = trial.setting
        return 1 + abs(groups - best[0]) + abs(rate - best[1]) * 10 + abs(momentum - best[2])

    return loss


def rounds(trials: list[Trial]) -> list[list[Trial]]:
    """Return the trials of each round."""
    each: dict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        if trial.phase.startswith("round"):
            each[trial.phase].append(trial)
    return list(each.values())


def test_each_round_goes_on_with_the_best_of_the_one_before() -> None:
    state, trials, decisions = drive(near(BEST), LINEAR, paper=False)
    played = rounds(trials)
    assert trials == [*chain(*played)]  # and nothing else
    counts = [len(each) for each in played]
    assert counts[0] == GRID
    assert [count * KEPT for count in counts[:-1]] == counts[1:]
    assert state.setting == BEST
    for before, after in pairwise(played[1:]):
        ranked = sorted(before, key=near(BEST))
        assert {t.setting for t in after} == {t.setting for t in ranked[: len(after)]}
    assert decisions[-1] == f"halving: chose {BEST}: the best of the last round"


def test_the_first_round_keeps_the_best_of_each_number_of_groups() -> None:
    """However far behind all of one number of groups are, after so few updates."""

    def loss(trial: Trial) -> float:
        behind = 100 if trial.phase == "round 1" and trial.setting.groups == BEST.groups else 0
        return near(BEST)(trial) + behind

    state, trials, _ = drive(loss, LINEAR, paper=False)
    first, second = rounds(trials)[:2]
    for groups in LINEAR:
        own = [trial for trial in first if trial.setting.groups == groups]
        ranked = sorted(own, key=near(BEST))
        kept = {trial.setting for trial in second if trial.setting.groups == groups}
        assert kept == {trial.setting for trial in ranked[: len(own) // 4]}
    assert state.setting == BEST


def test_a_later_trial_goes_on_from_the_model_of_the_one_before() -> None:
    state, trials, _ = drive(near(BEST), LINEAR, paper=False)
    own = [trial for trial in trials if trial.setting == BEST]
    assert [trial.start for trial in own] == [None, *(trial.label for trial in own[:-1])]
    trained = [sum(trial.length for trial in own[: place + 1]) for place in range(len(own))]
    assert trained == pytest.approx(ROUNDS)
    assert state.checkpoint == own[-1].label


def test_the_second_half_of_a_trial_decides_not_its_last_losses() -> None:
    state, *_ = drive(lambda trial: 1.0, LINEAR, paper=False, halves=near(BEST))
    assert state.setting == BEST


def test_trials_that_diverge_are_out() -> None:
    def loss(trial: Trial) -> float | None:
        return None if trial.setting.rate == 0.1 else near(BEST)(trial)

    state, *_ = drive(loss, LINEAR, paper=False)
    assert state.setting == Setting(2, 0.01, 0.6)


def test_a_round_that_diverges_throughout_leaves_the_best_of_the_others() -> None:
    def loss(trial: Trial) -> float | None:
        return near(BEST)(trial) if trial.phase == "round 1" else None

    state, trials, _ = drive(loss, LINEAR, paper=False)
    first, second = rounds(trials)
    left = [trial for trial in first if trial.setting not in {other.setting for other in second}]
    best = min(left, key=near(BEST))
    assert (state.setting, state.checkpoint) == (best.setting, best.label)


def test_nothing_is_chosen_if_the_whole_grid_diverges() -> None:
    state, trials, _ = drive(lambda trial: None, LINEAR, paper=False)
    assert state.setting is None
    assert len(trials) == GRID


def test_the_first_epoch_follows_at_once_and_a_search_before_each_other() -> None:
    state, trials, _ = drive(near(BEST), LINEAR, 2, paper=False)
    chosen = state.cold.checkpoint if state.cold else None
    rest = [trial for trial in trials if not trial.phase.startswith("round")]
    first, *probes, second = rest
    assert (first.kind, first.setting, first.start, first.length) == ("epoch", BEST, chosen, EPOCH)
    assert {trial.phase for trial in probes} == {"steady 2 g=2"}
    assert {trial.length for trial in probes} == {STEADY_PROBE}
    assert (second.kind, second.start) == ("epoch", first.label)


def test_with_refine_finer_momenta_are_searched_before_the_first_epoch() -> None:
    fine = Setting(2, 0.1, 0.5)
    state, trials, _ = drive(near(fine), LINEAR, paper=False, refine=True)
    assert state.setting == fine
    assert any(trial.phase.startswith("steady 1") for trial in trials)
