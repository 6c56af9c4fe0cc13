"""Implicit momentum, fitted to the trajectories of runs that differ in their seeds only.

With memoryless step times, asynchrony with g groups acts like momentum (Mitliagkas et al., 2016):

    E[w(t+1) - w(t)] = μ · E[w(t) - w(t-1)] - s · E[∇f(w(t))],   μ = 1 - 1/g,   s = η/g

The same holds for expectations given all that happened before the step from w(t-1) to w(t). So the
error of the law is uncorrelated with every earlier gradient and change, while it is correlated with
w(t) - w(t-1) and with ∇f(w(t)): least squares over single runs would find far too little momentum.
The fit is therefore one of two stages: earlier gradients and changes (the instruments) predict the
last change and the gradient, and the change is fitted to the predictions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import RunError
from ..quantities import figures
from ..reading.labels import identity
from ..reading.runs import Run, fact
from .group_updates import group_count

FILE = "trajectory.npz"
DIRECTIONS = 12
"""Directions in which the gradients are largest, to which the law is fitted."""
WINDOWS = (1, 2, 4, 8, 16, 32, 64)
"""Numbers of earlier steps over which the instruments add up changes."""
RESAMPLES = 400
"""Sets of runs drawn with replacement, from which the intervals are taken."""
_WEIGHINGS = 3
"""Rounds in which directions get the inverse of their error's variance as their weight."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Trajectory:
    """The first steps of a run: f64[steps, directions] both."""

    changes: Floats
    """Change of the model in each step."""
    gradients: Floats
    """Gradient at the model before each step."""


@dataclass(frozen=True)
class MomentumFit:
    """Momentum and step of the law above, with the intervals that hold 95 % of the resamples."""

    momentum: float
    step: float
    momentum_range: tuple[float, float] | None
    """None if there is a single run."""
    step_range: tuple[float, float] | None
    runs: int


def read_trajectory(folder: Path) -> Trajectory | None:
    """Return the trajectory in the run's `folder`; None if the run kept none.

    Raises RunError if the file is damaged.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        with np.load(path, allow_pickle=False) as kept:
            changes, gradients = (kept[key].astype(np.float64) for key in ("changes", "gradients"))
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise RunError(f"{path}: no trajectory: {error}") from error
    if changes.ndim != 2 or changes.shape != gradients.shape:
        raise RunError(
            f"{path}: changes {changes.shape} and gradients {gradients.shape} are not two tables "
            "of the same size"
        )
    return Trajectory(changes, gradients)


def fit(
    trajectories: Sequence[Trajectory], explicit: float = 0.0, resamples: int = RESAMPLES
) -> MomentumFit:
    """Fit the law to `trajectories` with equal numbers of directions.

    `explicit` is the optimizer's momentum, which is taken out first: a change less `explicit` times
    the change before obeys the law. Raises RunError if there are too few steps, or if a value is
    not finite.
    """
    runs = [_without(run, explicit) for run in trajectories]
    if not runs or min(len(run.changes) for run in runs) < 4:
        raise RunError("momentum is fitted to runs with at least 4 steps")
    if not all(np.isfinite(part).all() for run in runs for part in (run.changes, run.gradients)):
        raise RunError("momentum cannot be fitted: a model of the run was not finite")
    axes = _principal([run.gradients for run in runs])
    moments = _Moments.of(runs, axes)
    momentum, step = moments.solved(np.ones(len(runs)))
    if len(runs) == 1:
        return MomentumFit(momentum, step, None, None, 1)
    draws = np.random.default_rng(0).multinomial(
        len(runs), np.full(len(runs), 1 / len(runs)), size=resamples
    )
    found = np.array([moments.solved(counts.astype(float)) for counts in draws])
    low, high = np.percentile(found, (2.5, 97.5), axis=0)
    return MomentumFit(
        momentum, step, (float(low[0]), float(high[0])), (float(low[1]), float(high[1])), len(runs)
    )


def _without(run: Trajectory, explicit: float) -> Trajectory:
    """Return `run` with changes that the optimizer's momentum does not prolong."""
    if not explicit:
        return run
    changes = run.changes.copy()
    changes[1:] -= explicit * run.changes[:-1]
    return Trajectory(changes, run.gradients)


def _principal(gradients: Sequence[Floats]) -> Floats:
    """Return the directions of the largest mean squares of `gradients`, as columns."""
    squares = sum(part.T @ part for part in gradients)
    _, vectors = np.linalg.eigh(squares)  # the largest come last
    return np.asarray(vectors[:, ::-1][:, :DIRECTIONS])


@dataclass(frozen=True)
class _Moments:
    """Sums over the steps of each run, by direction: f64[runs, directions, rows, columns].

    z are the instruments, x the two regressors, y the change.
    """

    zx: Floats
    zy: Floats
    zz: Floats
    xx: Floats
    xy: Floats
    yy: Floats

    @classmethod
    def of(cls, runs: Sequence[Trajectory], axes: Floats) -> "_Moments":
        sums = [_sums(Trajectory(run.changes @ axes, run.gradients @ axes)) for run in runs]
        return cls(*map(np.array, zip(*sums, strict=True)))

    def solved(self, counts: Floats) -> tuple[float, float]:
        """Return momentum and step, with run i counted `counts[i]` times."""
        zx, zy, zz, xx, xy, yy = (
            np.tensordot(counts, part, 1)
            for part in (self.zx, self.zy, self.zz, self.xx, self.xy, self.yy)
        )
        # instruments may coincide, in short runs for example: a trace of ridge keeps zz regular
        trace = np.trace(zz, axis1=1, axis2=2)[:, None, None]
        rows = zz.shape[1]
        predicted = np.linalg.solve(zz + (1e-10 * trace + 1e-300) * np.eye(rows), zx)
        left = np.einsum("dzi,dzj->dij", zx, predicted)
        right = np.einsum("dzi,dzj->dij", predicted, zy)[:, :, 0]
        weights = 1 / np.maximum(yy[:, 0, 0], 1e-300)
        for _ in range(_WEIGHINGS):
            law = np.linalg.lstsq(
                np.tensordot(weights, left, 1), np.tensordot(weights, right, 1), rcond=None
            )[0]
            errors = yy[:, 0, 0] - 2 * xy[:, :, 0] @ law + np.einsum("i,dij,j->d", law, xx, law)
            weights = 1 / np.maximum(errors, 1e-300)
        return float(law[0]), float(law[1])


def _sums(run: Trajectory) -> tuple[Any, ...]:
    """Return the moments of one run, in the order of `_Moments`."""
    steps = np.arange(2, len(run.changes))
    # travelled[t] = w(t) - w(0)
    travelled = np.vstack([np.zeros((1, run.changes.shape[1])), np.cumsum(run.changes, 0)])
    y = run.changes[None, steps]
    x = np.stack([run.changes[steps - 1], -run.gradients[steps]])
    # known before the step from w(t-1) to w(t): the gradient at w(t-1), and the way to w(t-1)
    known = [run.gradients[steps - 1]]
    known += [travelled[steps - 1] - travelled[np.maximum(steps - 1 - n, 0)] for n in WINDOWS]
    z = np.stack(known)
    pairs = ((z, x), (z, y), (z, z), (x, x), (x, y), (y, y))
    return tuple(np.einsum("itd,jtd->dij", a, b, optimize=True) for a, b in pairs)


# -- of runs ---------------------------------------------------------------------------------------


def explicit_momentum(run: Run) -> float:
    """Return the momentum of the optimizer of `run`; 0 without momentum."""
    optimizer = run.training.get("optimizer")
    if not isinstance(optimizer, dict) or optimizer.get("kind") != "momentum":
        return 0.0
    return float(optimizer.get("momentum", 0.9))


def total_momentum(implicit: float, explicit: float) -> float:
    """Return the momentum that prolongs a step as much as both together: 1 - (1 - μ)(1 - ν)."""
    return 1 - (1 - implicit) * (1 - explicit)


@fact
def trajectory(run: Run) -> Trajectory | None:
    """Return the trajectory of `run`, or None."""
    return read_trajectory(run.folder)


def measured_momentum(runs: Sequence[Run]) -> MomentumFit | None:
    """Return the momentum of `runs`, which differ in their seeds only; None if it is unknown."""
    kept = [found for run in runs if (found := trajectory(run)) is not None]
    if not kept:
        return None
    try:
        return fit(kept, explicit_momentum(runs[0]))
    except RunError:  # too short, or not finite
        return None


def momentum_sentence(runs: Sequence[Run]) -> str:
    """Return the implicit momentum of `runs` beside 1 - 1/g; empty if none was measured."""
    found = measured_momentum(runs)
    if found is None:
        return ""
    low_high = found.momentum_range
    span = f" ({low_high[0]:.3f} – {low_high[1]:.3f})" if low_high else ", of one run alone"
    words = [f"{found.momentum:.3f}{span}"]
    if count := group_count(runs[0]):
        words.append(f"1 − 1/g = {1 - 1 / count:.3f} for g = {count} and memoryless steps")
    words.append(f"step {figures(found.step)}")
    if explicit := explicit_momentum(runs[0]):
        total = total_momentum(found.momentum, explicit)
        words.append(f"with the optimizer's {explicit:g} in total {total:.3f}")
    return "; ".join(words)


def siblings(run: Run, runs: Sequence[Run]) -> list[Run]:
    """Return those of `runs` that differ from `run` in the seed only."""
    return [other for other in runs if identity(other) == identity(run)]
