"""Algorithm 1 of Omnivore: search momentum and rate, halve the groups, train for an epoch, repeat.

The first choice is made before it, from the initial weights: by successive halving, or by the cold
start of the released code.

All are generators without I/O: they yield trials to play and decisions to show, and are sent
results. The program that drives them ends them when the budget is spent or the target reached.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .cold_start import FirstChoice, cold_start
from .grids import FIRST_RATES, STEADY, Setting, halved, later_grid
from .search import Decision, Request, Trial, TrialResult, search
from .successive_halving import successive_halving

STEADY_PROBE = 200 / 60
"""Length of a probe after the cold start, in probes of the cold start: 200 s to 60 s."""
EPOCH = 10_000 / 60
"""Length of a training epoch, in probes of the cold start: 10,000 s to 60 s."""
AFTER_HALVING = 0.6
"""Momentum that prunes the grid after the number of groups was halved."""


@dataclass
class TuningState:
    """State of the algorithm: choice and checkpoint, valid whenever the driver stops."""

    setting: Setting | None = None
    """Newest choice."""
    checkpoint: str | None = None
    """Label of the trial whose model is the newest checkpoint; None: the initial weights."""
    cold: FirstChoice | None = None
    halvings: list[int] = field(default_factory=list)
    """Numbers of groups that were halved because the best momentum was 0."""


def algorithm_one(
    devices: int,
    state: TuningState,
    *,
    rates: Sequence[float] = FIRST_RATES,
    epochs: int = 0,
    refine: bool = False,
    paper: bool = False,
) -> Generator[Request, Any, None]:
    """Tune `devices` devices, and keep `state` up to date.

    After the first choice come `epochs` epochs, with a search before each but the first. `refine`
    adds a second pass over finer momenta to each search, and a search before the first epoch. With
    `paper` the first choice is that of a cold start and a search, which begins with as many groups
    as the server can use, as in the paper and the released code.
    """
    if paper:
        state.cold = yield from cold_start(devices, rates, refine=refine)
    else:
        state.cold = yield from successive_halving(devices, rates)
    if state.cold is None:
        return
    state.setting, state.checkpoint = state.cold.chosen, state.cold.checkpoint
    last = state.setting
    if paper:
        last = state.cold.settings[state.cold.fastest]
        why = "the fewest groups within 10 % of the fastest measured updates"
        yield Decision("steady 1", f"begin with g={last.groups}: {why}")
    searched = paper or refine
    for epoch in range(1, max(1, epochs) + 1):
        if searched or epoch > 1:
            last = yield from _searched(f"steady {epoch}", last, state, devices, refine)
        if epoch > epochs:
            return
        training = Trial(f"epoch {epoch}", "epoch", last, EPOCH, state.checkpoint)
        trained: TrialResult = yield training
        if trained.loss is None:
            why = f"{trained.failure}: go on from the checkpoint before it"
            yield Decision(f"epoch {epoch}", why)
            if not trained.short:
                last = last._replace(rate=last.rate / 10)
        else:
            state.checkpoint = training.label


def _searched(
    phase: str, last: Setting, state: TuningState, devices: int, refine: bool
) -> Generator[Request, Any, Setting]:
    """Search momentum and rate; halve `groups` while the best momentum is 0.

    The search begins with the groups of `last`, which prunes the grid. A grid without a loss counts
    as too much asynchrony, too; its rate is divided by 10 then.
    """
    groups = last.groups
    while True:
        chosen = yield from search(
            f"{phase} g={groups}",
            later_grid(groups, last.rate),
            last=last,
            buffer=STEADY,
            length=STEADY_PROBE,
            start=state.checkpoint,
            refine=refine,
        )
        if chosen is not None:
            state.setting = chosen
        if groups == 1 or (chosen is not None and chosen.momentum > 0):
            return chosen or last
        why = "no probe has a loss" if chosen is None else "the best momentum is 0"
        fewer = halved(groups, devices)
        state.halvings.append(groups)
        yield Decision(phase, f"{why}: too much asynchrony: from g={groups} to g={fewer}")
        rate = last.rate / 10 if chosen is None else chosen.rate
        last, groups = Setting(fewer, rate, AFTER_HALVING), fewer
