"""Search of a grid: prune settings, probe the others, choose the best.

The algorithm requests trials from the program that plays them, and gets their results.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .grids import Setting, against_previous, choose, second_pass


@dataclass(frozen=True)
class Trial:
    """A training to play for a while, from a checkpoint or from the initial weights."""

    phase: str
    """Part of the algorithm, for example `cold` or `steady 1`; unique with kind and setting."""
    kind: str
    """`probe`, `final` (the longer run of a chosen setting at the cold start) or `epoch`."""
    setting: Setting
    length: float
    """Duration, in probes of the cold start."""
    start: str | None = None
    """Label of the trial whose model this one begins with; None: the initial weights."""

    @property
    def label(self) -> str:
        return f"{self.phase} {self.kind} {self.setting}"


@dataclass(frozen=True)
class TrialGrid:
    """Trials of one grid in ascending order, of which those above a divergence are not played."""

    trials: tuple[Trial, ...]


@dataclass(frozen=True)
class Decision:
    """A choice of the algorithm, with its reason."""

    phase: str
    text: str
    setting: Setting | None = None
    trial: str | None = None
    """Label of the trial that was chosen, if a trial was."""


@dataclass(frozen=True)
class Pruned:
    """A setting that is not probed, with the reason."""

    phase: str
    setting: Setting
    why: str


@dataclass(frozen=True)
class TrialResult:
    """The results of a trial that was played."""

    loss: float | None
    """Mean of the last ten displayed losses; None if the training diverged or was too short."""
    seconds: float
    """Emulated duration."""
    updates: int
    """Group updates."""
    update_seconds: float
    """Emulated seconds from one group update to the next, on average."""
    half_loss: float | None
    """Mean of all losses in the second half of the time; None if the trial has no score."""
    short: bool = False
    """Whether the trial ended before a loss was displayed, and did not diverge."""

    @property
    def failure(self) -> str:
        """Reason for which the trial has no loss, in words; "" if it has."""
        if self.loss is not None:
            return ""
        return "too short to display a loss" if self.short else "diverged"


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
