"""Number of compute groups of a run, and the implicit momentum that its runs show beside theory."""

import json
from collections.abc import Sequence
from typing import Any

from ..errors import RunError
from ..quantities import figures
from ..reading.runs import Run, fact
from .momentum import MomentumFit, Trajectory, fit, read_trajectory


def groups(run: Run) -> int | None:
    """Return the number g of groups that take steps without waiting for each other.

    One under a barrier, every device under asynchronous training; None for other synchronizations.
    Without a synchronization in the scenario, the number for which the manifest has a prediction.
    """
    chosen = _training(run).get("synchronization")
    if chosen is None:
        predicted = run.manifest.get("hardware_efficiency") or {}
        return int(predicted["groups"]) if "groups" in predicted else None
    kind = chosen.get("kind") if isinstance(chosen, dict) else chosen
    if kind == "groups" and isinstance(chosen, dict):
        count = chosen.get("groups")
        return count if isinstance(count, int) else None
    if kind == "barrier":
        return 1
    return run.summary.get("devices") if kind == "asynchronous" else None


def explicit_momentum(run: Run) -> float:
    """Return the momentum of the optimizer of `run`; 0 without momentum."""
    optimizer = _training(run).get("optimizer")
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


def measured(runs: Sequence[Run]) -> MomentumFit | None:
    """Return the momentum of `runs`, which differ in their seeds only; None if it is unknown."""
    kept = [found for run in runs if (found := trajectory(run)) is not None]
    if not kept:
        return None
    try:
        return fit(kept, explicit_momentum(runs[0]))
    except RunError:  # too short, or not finite
        return None


def sentence(runs: Sequence[Run]) -> str:
    """Return the implicit momentum of `runs` beside 1 - 1/g; empty if none was measured."""
    found = measured(runs)
    if found is None:
        return ""
    low_high = found.momentum_range
    span = f" ({low_high[0]:.3f} – {low_high[1]:.3f})" if low_high else ", of one run alone"
    words = [f"{found.momentum:.3f}{span}"]
    if count := groups(runs[0]):
        words.append(f"1 − 1/g = {1 - 1 / count:.3f} for g = {count} and memoryless steps")
    words.append(f"step {figures(found.step)}")
    if explicit := explicit_momentum(runs[0]):
        total = total_momentum(found.momentum, explicit)
        words.append(f"with the optimizer's {explicit:g} in total {total:.3f}")
    return "; ".join(words)


def siblings(run: Run, runs: Sequence[Run]) -> list[Run]:
    """Return those of `runs` that differ from `run` in the seed only."""
    return [other for other in runs if _identity(other) == _identity(run)]


def _identity(run: Run) -> str:
    return json.dumps({**run.scenario, "seed": None}, sort_keys=True, default=str)


def _training(run: Run) -> dict[str, Any]:
    training = run.scenario.get("training")
    return training if isinstance(training, dict) else {}
