"""Algorithm 1 of Omnivore: search momentum and rate, halve the groups, train for an epoch, repeat.

A generator without I/O: it yields trials to play and decisions to show, and is sent results. The
program that drives it ends it when the budget is spent or the target reached.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .cold_start import ColdStart, cold_start
from .requests import Decision, Trial, TrialResult
from .search import Request, search
from .setting import FIRST_RATES, STEADY, Setting, halved, later_grid

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
    cold: ColdStart | None = None
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

    After the cold start and a first search come `epochs` epochs, each but the last followed by a
    search from its model. `refine` adds the second pass over finer momenta. The searches begin with
    the groups of the cold start's least loss; with `paper` with as many groups as the server can
    use, as in the paper and the released code.
    """
    state.cold = yield from cold_start(devices, rates, refine=refine, paper=paper)
    if state.cold is None:
        return
    state.setting, state.checkpoint = state.cold.chosen, state.cold.checkpoint
    # frequent updates may still be worth little: final runs of equal time show their worth
    groups = state.cold.fastest if paper else state.cold.chosen.groups
    why = (
        "the fewest groups within 10 % of the fastest measured updates"
        if paper
        else "the least loss of the cold start"
    )
    yield Decision("steady 1", f"begin with g={groups}: {why}")
    last = state.cold.settings[groups]
    for epoch in range(1, max(1, epochs) + 1):
        last = yield from _searched(f"steady {epoch}", groups, last, state, devices, refine)
        groups = last.groups
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
    phase: str, groups: int, last: Setting, state: TuningState, devices: int, refine: bool
) -> Generator[Request, Any, Setting]:
    """Search momentum and rate; halve `groups` while the best momentum is 0.

    `last` prunes the grid. A grid without a loss counts as too much asynchrony, too; its rate is
    divided by 10 then.
    """
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
