"""Momentum fitted to trajectories: of processes whose momentum and step are known, and of files."""

from pathlib import Path

import numpy as np
import pytest

from analysis import RunError
from analysis.facts.momentum import Trajectory, fit, read_trajectory
from tests.fakes.runs.asynchronous_descent import RATE, asynchronous


@pytest.mark.parametrize("groups", [2, 4, 8])
def test_memoryless_groups_have_the_momentum_of_the_theorem(groups: int) -> None:
    found = fit([asynchronous(groups, seed) for seed in range(120)], resamples=60)
    assert found.momentum == pytest.approx(1 - 1 / groups, abs=0.03)
    assert found.step == pytest.approx(RATE, rel=0.1)
    assert found.momentum_range and found.step_range and found.runs == 120
    assert found.momentum_range[0] < found.momentum < found.momentum_range[1]
    assert found.step_range[0] < found.step < found.step_range[1]


def test_the_momentum_of_the_optimizer_is_taken_out() -> None:
    runs = [asynchronous(2, seed, explicit=0.3) for seed in range(120)]
    found = fit(runs, explicit=0.3, resamples=2)
    assert found.momentum == pytest.approx(0.5, abs=0.03)
    assert found.step == pytest.approx(RATE, rel=0.1)
    assert fit(runs, resamples=2).step > 1.3 * RATE


def test_devices_in_turn_do_not_have_the_momentum_of_the_theorem() -> None:
    found = fit([asynchronous(2, seed, memoryless=False) for seed in range(60)], resamples=2)
    assert abs(found.momentum - 0.5) > 0.1


def test_plain_least_squares_would_find_too_little() -> None:
    """So the two stages are needed: noise hides the momentum of a single run's changes."""
    runs = [asynchronous(8, seed, noise=3) for seed in range(120)]
    y = np.concatenate([run.changes[1:].ravel() for run in runs])
    x = np.stack(
        [
            np.concatenate([run.changes[:-1].ravel() for run in runs]),
            -np.concatenate([run.gradients[1:].ravel() for run in runs]),
        ]
    )
    assert np.linalg.lstsq(x.T, y, rcond=None)[0][0] < 0.6
    assert fit(runs, resamples=2).momentum == pytest.approx(0.875, abs=0.05)


def test_a_single_run_has_no_interval() -> None:
    found = fit([asynchronous(2, 0, steps=400)])
    assert (found.momentum_range, found.step_range, found.runs) == (None, None, 1)


def test_the_same_trajectories_give_the_same_interval() -> None:
    runs = [asynchronous(2, seed) for seed in range(5)]
    assert fit(runs, resamples=20) == fit(runs, resamples=20)


def test_runs_that_cannot_be_fitted_are_named() -> None:
    with pytest.raises(RunError, match="at least 4 steps"):
        fit([Trajectory(np.zeros((3, 2)), np.zeros((3, 2)))])
    with pytest.raises(RunError, match="at least 4 steps"):
        fit([])
    with pytest.raises(RunError, match="not finite"):
        fit([Trajectory(np.full((9, 2), np.inf), np.zeros((9, 2)))])


def test_a_folder_may_have_no_trajectory_and_a_damaged_one_is_an_error(tmp_path: Path) -> None:
    assert read_trajectory(tmp_path) is None
    (tmp_path / "trajectory.npz").write_bytes(b"no archive")
    with pytest.raises(RunError, match=r"trajectory\.npz: no trajectory"):
        read_trajectory(tmp_path)
    np.savez(tmp_path / "trajectory.npz", changes=np.zeros((3, 2)), gradients=np.zeros((2, 2)))
    with pytest.raises(RunError, match="not two tables of the same size"):
        read_trajectory(tmp_path)
