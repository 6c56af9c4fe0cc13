"""The tuner's algorithm, by the paper's rule, against made-up results: trials and choices."""

import pytest

from emulator.sweeps.tuning.algorithm_one import (
    EPOCH,
    STEADY_PROBE,
)
from emulator.sweeps.tuning.grids import Setting
from emulator.sweeps.tuning.search import (
    Trial,
)
from tests.sweeps.tuning.driven_algorithm import LINEAR, Loss, drive

SATURATED = {1: 8.0, 2: 4.0, 4: 3.9, 8: 3.9}


def best_at(best: dict[int, tuple[float, float]]) -> Loss:
    """Return losses that are least at one rate and momentum for each number of groups."""

    def loss(trial: Trial) -> float:
        groups, rate, momentum = trial.setting
        return 0.1 * (1 + 10 * (best[groups] != (rate, momentum))) + 0.001 * groups

    return loss


def test_the_cold_start_goes_from_one_group_to_all() -> None:
    best = {1: (0.01, 0.9), 2: (0.01, 0.6), 4: (0.01, 0.3), 8: (0.01, 0.3)}
    state, trials, _ = drive(best_at(best), LINEAR)
    cold = [trial for trial in trials if trial.phase.startswith("cold")]
    assert all(trial.start is None for trial in cold)
    assert [t.setting.groups for t in cold if t.kind == "final"] == [1, 2, 4, 8]
    assert {t.length for t in cold if t.kind == "final"} == {2.0}
    assert {t.length for t in cold if t.kind == "probe"} == {1.0}
    assert state.cold is not None
    assert state.cold.chosen == Setting(1, 0.01, 0.9)  # the least loss
    assert state.cold.fastest == 8
    # pruned against one group: no rate above its own, no more momentum at it
    two = [t.setting for t in cold if t.setting.groups == 2 and t.kind == "probe"]
    assert two == [
        Setting(2, 0.001, 0.9),
        *(Setting(2, 0.01, momentum) for momentum in (0, 0.3, 0.6, 0.9)),
    ]


def test_final_runs_are_compared_by_their_scores() -> None:
    """Half of the time of a final run is a small part of its updates where groups are many."""
    best = dict.fromkeys(LINEAR, (0.01, 0.3)) | {1: (0.01, 0.9)}
    halves = {1: 8.0, 2: 4.0, 4: 2.0, 8: 1.0}
    state, _, decisions = drive(
        best_at(best), LINEAR, halves=lambda trial: halves[trial.setting.groups]
    )
    assert state.cold is not None
    assert state.cold.chosen.groups == 1
    scores = "g=1 0.1010, g=2 0.1020, g=4 0.1040, g=8 0.1080"
    assert any(text.endswith(f"the least score of the final runs: {scores}") for text in decisions)


def test_more_groups_are_tried_until_the_server_is_saturated() -> None:
    state, trials, decisions = drive(lambda trial: 1.0, SATURATED)
    assert {trial.setting.groups for trial in trials if "cold" in trial.phase} == {1, 2, 4}
    assert any("saturated: 3.9 s per update with g=4, 4 s with g=2" in text for text in decisions)
    assert state.cold is not None
    assert state.cold.fastest == 2  # the fewest within 10 % of the fastest


def test_groups_are_halved_while_the_best_momentum_is_zero() -> None:
    best = {1: (0.1, 0.9), 2: (0.1, 0.6), 4: (0.1, 0.0), 8: (0.1, 0.0)}
    state, trials, decisions = drive(best_at(best), LINEAR)
    steady = [trial for trial in trials if trial.phase.startswith("steady")]
    assert list(dict.fromkeys(t.setting.groups for t in steady)) == [8, 4, 2]
    assert state.halvings == [8, 4]
    assert state.setting == Setting(2, 0.1, 0.6)
    assert all(t.length == pytest.approx(STEADY_PROBE) for t in steady)
    assert {t.start for t in steady} == {"cold g=1 final g=1 rate=0.1 momentum=0.9"}
    # after halving, momentum 0.6 at the rate found prunes the grid
    two = [t.setting[1:] for t in steady if t.setting.groups == 2]
    assert two == [(0.01, 0.6), (0.01, 0.9), (0.1, 0), (0.1, 0.3), (0.1, 0.6)]
    assert sum("too much asynchrony" in text for text in decisions) == 2


def test_groups_are_not_halved_below_one() -> None:
    best = {1: (0.1, 0.9), 2: (0.1, 0.0), 4: (0.1, 0.0), 8: (0.1, 0.0)}
    zero = {**best, 1: (0.1, 0.0)}

    def loss(trial: Trial) -> float:
        return best_at(best if "cold" in trial.phase else zero)(trial)

    state, *_ = drive(loss, LINEAR)
    assert state.setting == Setting(1, 0.1, 0.0)
    assert state.halvings == [8, 4, 2]


def test_epochs_go_on_from_each_other() -> None:
    best = dict.fromkeys(LINEAR, (0.1, 0.3)) | {1: (0.1, 0.9)}
    state, trials, _ = drive(best_at(best), LINEAR, epochs=2)
    first, second = (trial for trial in trials if trial.kind == "epoch")
    assert first.length == second.length == EPOCH
    assert state.cold is not None
    assert (first.start, second.start) == (state.cold.checkpoint, first.label)
    assert state.checkpoint == second.label
    assert {t.start for t in trials if t.phase.startswith("steady 2")} == {first.label}


def test_an_epoch_that_diverges_is_not_a_checkpoint() -> None:
    best = dict.fromkeys(LINEAR, (0.1, 0.3)) | {1: (0.1, 0.9)}
    state, *_ = drive(
        lambda trial: None if trial.kind == "epoch" else best_at(best)(trial), LINEAR, epochs=1
    )
    assert state.cold is not None
    assert state.checkpoint == state.cold.checkpoint


def test_a_grid_that_diverges_throughout_has_too_much_asynchrony() -> None:
    best = dict.fromkeys(LINEAR, (0.1, 0.3)) | {1: (0.1, 0.9)}

    def loss(trial: Trial) -> float | None:
        if trial.phase.startswith("steady") and trial.setting.groups == 8:
            return None
        return best_at(best)(trial)

    state, _, decisions = drive(loss, LINEAR)
    assert state.halvings == [8]
    assert any(
        "no probe has a loss: too much asynchrony: from g=8 to g=4" in text for text in decisions
    )


def test_nothing_is_chosen_if_every_first_rate_diverges() -> None:
    state, trials, decisions = drive(lambda trial: None, LINEAR)
    assert state.setting is None
    assert len(trials) == 4
    assert decisions == ["cold g=1: every probe: diverged"]


def test_probes_that_are_too_short_did_not_diverge() -> None:
    *_, decisions = drive(lambda trial: None, LINEAR, short=True)
    assert decisions == ["cold g=1: every probe: too short to display a loss"]


def test_an_epoch_that_was_too_short_keeps_its_rate() -> None:
    best = best_at(dict.fromkeys(LINEAR, (0.1, 0.3)))
    rates = {}
    for short, why in ((False, "diverged"), (True, "too short to display a loss")):
        _, trials, decisions = drive(
            lambda trial: None if trial.kind == "epoch" else best(trial), LINEAR, 2, short=short
        )
        assert f"epoch 1: {why}: go on from the checkpoint before it" in decisions
        after = [trial.setting.rate for trial in trials if trial.phase.startswith("steady 2")]
        rates[short] = max(after)
    assert rates[False] == pytest.approx(rates[True] / 10)


def test_a_second_pass_probes_finer_momenta() -> None:
    best = {1: (0.1, 0.9), 2: (0.1, 0.5), 4: (0.1, 0.5), 8: (0.1, 0.5)}

    def loss(trial: Trial) -> float:
        groups, rate, momentum = trial.setting
        return abs(momentum - best[groups][1]) + 10 * abs(rate - 0.1) + 1

    state, trials, _ = drive(loss, LINEAR, refine=True)
    assert state.setting == Setting(8, 0.1, 0.5)
    assert len(trials) == len({trial.label for trial in trials})
