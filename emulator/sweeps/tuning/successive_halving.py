"""Successive halving: short trials of every setting, then longer ones of those that did best.

Jamieson and Talwalkar, 2016, arXiv 1502.07943. A trial goes on from the model of its setting's
trial in the round before, so a long trial costs only what it adds. All trials of a round take the
same time, whatever the number of groups, and are compared by the mean of the losses in its second
half. The early rounds need not find the best setting: they only have to keep it. The first round
has a few updates of one group, and the waits of these decide how it looks beside many groups. So
that round only compares settings with as many groups, and keeps some of each number.

A generator without I/O, like the rest of the algorithm.
"""

from collections.abc import Generator, Mapping, Sequence
from itertools import groupby
from math import ceil
from typing import Any

from ...costs.prediction import divisors
from .cold_start import FirstChoice
from .grids import FIRST_RATES, Setting, full_grid
from .search import Decision, Request, Results, Trial, TrialGrid

ROUNDS = (0.1, 0.4, 1.6)
"""Length of a setting's training up to the end of each round, in probes."""
KEPT = 1 / 4
"""Share of a round's settings that the next round goes on with."""


def successive_halving(
    devices: int, rates: Sequence[float] = FIRST_RATES
) -> Generator[Request, Any, FirstChoice | None]:
    """Return the best setting of the whole grid for `devices` devices.

    Returns None if no trial of the first round has a loss. If all trials of a later round diverge,
    the best of the settings that the round left out is the choice.
    """
    tried = full_grid(divisors(devices), rates)
    ranking = list(tried)
    models: dict[Setting, str] = {}
    speeds: dict[int, float] = {}
    trained = 0.0
    for number, until in enumerate(ROUNDS, 1):
        length = until - trained
        trials = [
            Trial(f"round {number}", "probe", setting, length, models.get(setting))
            for setting in tried
        ]
        results = yield from _played(trials)
        losses = _losses(results)
        if not losses:
            ranking = [setting for setting in ranking if setting not in tried]
            break
        ranking = sorted(losses, key=losses.__getitem__)
        models |= {trial.setting: trial.label for trial in trials}
        speeds |= {setting.groups: results[setting].update_seconds for setting in ranking}
        best = _best_of_each(ranking, tried) if number == 1 else _best(ranking, tried)
        yield _kept(number, losses, best)
        tried, trained = sorted(best), until
    if not ranking:
        return None
    choice = ranking[0]
    yield Decision("halving", f"chose {choice}: the best of the last round", choice, models[choice])
    return FirstChoice(choice, models[choice], update_seconds=speeds)


def _best(ranking: Sequence[Setting], tried: Sequence[Setting]) -> list[Setting]:
    """Return the first of `ranking`, as many as the next round of those `tried` goes on with."""
    return [*ranking[: ceil(len(tried) * KEPT)]]


def _best_of_each(ranking: Sequence[Setting], tried: Sequence[Setting]) -> list[Setting]:
    """Return the `_best` of each number of groups by itself, in the order of `ranking`."""
    kept: set[Setting] = set()
    for groups in {setting.groups for setting in tried}:
        own, all_own = (
            [setting for setting in settings if setting.groups == groups]
            for settings in (ranking, tried)
        )
        kept |= {*_best(own, all_own)}
    return [setting for setting in ranking if setting in kept]


def _played(trials: Sequence[Trial]) -> Generator[Request, Any, Results]:
    """Return the results of `trials`, a grid for each number of groups.

    A divergence rules out larger rates and momenta of its own number of groups only.
    """
    results: Results = {}
    for _, grid in groupby(trials, key=lambda trial: trial.setting.groups):
        results |= yield TrialGrid(tuple(grid))
    return results


def _losses(results: Results) -> dict[Setting, float]:
    """Return the mean loss over the second half of each trial that has one."""
    return {
        setting: found.half_loss
        for setting, found in results.items()
        if found.half_loss is not None
    }


def _kept(number: int, losses: Mapping[Setting, float], best: Sequence[Setting]) -> Decision:
    """Return the decision to go on with the `best` of the settings with these `losses`."""
    each = ", ".join(f"{setting} {losses[setting]:.4f}" for setting in best)
    text = f"the least mean losses over the second half, of {len(losses)}: {each}"
    return Decision(f"round {number}", text)
