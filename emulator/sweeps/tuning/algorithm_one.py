"""Algorithm 1 of Omnivore: search momentum and rate, halve the groups, train for an epoch, repeat.

The cold start before it tries numbers of groups, rates and momenta, all from the initial weights,
from the largest groups (g = 1) to the smallest. It ends when more groups do not make updates at
least 10 % more frequent, which is the saturation of the server, as measured.

Both are generators without I/O: they yield trials to play and decisions to show, and are sent
results. The program that drives them ends them when the budget is spent or the target reached.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...costs.prediction import divisors
from .grids import COLD, FIRST_RATES, STEADY, Setting, first_grid, halved, later_grid
from .search import Decision, Request, Trial, TrialResult, search

PROBE = 1.0
"""Length of a probe of the cold start: the unit of all lengths. 60 s in the released code."""
FINAL = 2.0
"""Length of the final run of each number of groups: 120 s in the released code."""
FASTER = 0.9
"""Largest ratio of times per update at which more groups count as faster."""


@dataclass
class ColdStart:
    """The results of a cold start."""

    chosen: Setting
    """The setting whose final run has the least mean loss over the second half, or score."""
    checkpoint: str
    """Label of that final run."""
    settings: dict[int, Setting] = field(default_factory=dict)
    """The best setting of each number of groups that was tried."""
    update_seconds: dict[int, float] = field(default_factory=dict)
    """Seconds per group update of each number of groups that was tried."""

    @property
    def fastest(self) -> int:
        """The smallest number of groups whose updates come within 10 % of the fastest rate."""
        least = min(self.update_seconds.values())
        near = [groups for groups, each in self.update_seconds.items() if each * FASTER <= least]
        return min(near)


def cold_start(
    devices: int,
    rates: Sequence[float] = FIRST_RATES,
    *,
    refine: bool = False,
    paper: bool = False,
) -> Generator[Request, Any, ColdStart | None]:
    """Return the best setting for `devices` devices; None if every first probe diverged.

    Final runs are compared by their mean losses over the second half of their time, which is the
    same for all; with `paper` by their scores, whose 50 updates are half of the time of one group,
    and a small part of that of many groups.
    """
    settings: dict[int, Setting] = {}
    speeds: dict[int, float] = {}
    losses: dict[int, float] = {}
    last: Setting | None = None
    for groups in divisors(devices):
        grid = first_grid(rates) if last is None else later_grid(groups, last.rate)
        chosen = yield from search(
            f"cold g={groups}",
            grid,
            last=last,
            buffer=COLD,
            length=PROBE,
            start=None,
            # the released code holds the first momentum at 0.9
            refine=refine and last is not None,
        )
        if chosen is None:
            break
        final: TrialResult = yield _final(chosen)
        settings[groups], speeds[groups] = chosen, final.update_seconds
        loss = final.loss if paper else final.half_loss
        if loss is not None:
            losses[groups] = loss
        if last is not None and speeds[groups] > FASTER * speeds[last.groups]:
            yield Decision(
                f"cold g={groups}",
                f"saturated: {speeds[groups]:.4g} s per update with g={groups}, "
                f"{speeds[last.groups]:.4g} s with g={last.groups}, not 10 % better: no more "
                "groups are tried",
            )
            break
        last = chosen
    if not losses:
        return None
    best = settings[min(losses, key=losses.__getitem__)]
    checkpoint = _final(best).label
    yield Decision(
        "cold",
        f"begin with the model of {best}: {_least(losses, paper)}",
        best,
        checkpoint,
    )
    return ColdStart(best, checkpoint, settings, speeds)


def _least(losses: Mapping[int, float], paper: bool) -> str:
    """Return the reason for the choice among the final runs with `losses`, by number of groups."""
    what = "score" if paper else "mean loss over the second half"
    each = ", ".join(f"g={groups} {loss:.4f}" for groups, loss in losses.items())
    return f"the least {what} of the final runs: {each}"


def _final(setting: Setting) -> Trial:
    return Trial(f"cold g={setting.groups}", "final", setting, FINAL)


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
