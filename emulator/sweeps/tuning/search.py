"""Search of a grid: prune settings, probe the others, choose the best."""

from collections.abc import Generator, Sequence
from typing import Any, TypeAlias

from .requests import Decision, Pruned, Trial, TrialGrid, TrialResult
from .setting import Setting, against_previous, choose, second_pass

Request: TypeAlias = Trial | TrialGrid | Decision | Pruned
Results: TypeAlias = dict[Setting, TrialResult]


def search(
    phase: str,
    settings: Sequence[Setting],
    *,
    last: Setting | None,
    buffer: float,
    length: float,
    start: str | None,
    refine: bool,
) -> Generator[Request, Any, Setting | None]:
    """Probe `settings` and return the best; None if no probe has a loss.

    `last` prunes, if it is given. With `refine` a second pass probes finer momenta around the best
    one. Other arguments as in `Trial` and `choose`.
    """
    wanted = []
    for setting in settings:
        if why := against_previous(setting, last):
            yield Pruned(phase, setting, why)
        else:
            wanted.append(setting)
    results = yield from _probed(phase, wanted, length, start)
    losses = _losses(results)
    if not losses:
        failures = sorted({found.failure for found in results.values()})
        yield Decision(phase, f"every probe: {' or '.join(failures) or 'ruled out'}")
        return None
    chosen = choose(losses, buffer)
    if refine:
        finer = [setting for setting in second_pass(chosen) if setting not in losses]
        around = yield from _probed(f"{phase} fine", finer, length, start)
        best = {**_losses(around), chosen: losses[chosen]}
        fine = choose(best, buffer)
        phase_of = phase if fine == chosen else f"{phase} fine"
    else:
        best, fine, phase_of = losses, chosen, phase
    label = Trial(phase_of, "probe", fine, length).label
    least = min(best.values())
    why = "least loss" if best[fine] == least else f"within {buffer - 1:.0%} of the least loss"
    yield Decision(phase, f"chose {fine}: {why} {best[fine]:.4f}", fine, label)
    return fine


def _probed(
    phase: str, settings: Sequence[Setting], length: float, start: str | None
) -> Generator[Request, Any, Results]:
    """Return the results of `settings`, except those that a divergence rules out."""
    trials = tuple(Trial(phase, "probe", setting, length, start) for setting in settings)
    if not trials:
        return {}
    results: Results = yield TrialGrid(trials)
    return results


def _losses(results: Results) -> dict[Setting, float]:
    return {setting: found.loss for setting, found in results.items() if found.loss is not None}
