"""Cold start of Omnivore's released code: groups, rates and momenta from the initial weights.

Groups are tried from the largest (g = 1) to the smallest. The cold start ends when more groups do
not make updates at least 10 % more frequent, which is the saturation of the server, as measured.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...costs.prediction import divisors
from .grids import COLD, FIRST_RATES, Setting, first_grid, later_grid
from .search import Decision, Request, Trial, TrialResult, search

PROBE = 1.0
"""Length of a probe of the cold start: the unit of all lengths. 60 s in the released code."""
FINAL = 2.0
"""Length of the final run of each number of groups: 120 s in the released code."""
FASTER = 0.9
"""Largest ratio of times per update at which more groups count as faster."""


@dataclass
class FirstChoice:
    """The first choice, from the initial weights."""

    chosen: Setting
    """The setting to begin with."""
    checkpoint: str
    """Label of the trial whose model is the first checkpoint."""
    settings: dict[int, Setting] = field(default_factory=dict)
    """The best setting of each number of groups that the cold start tried."""
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
) -> Generator[Request, Any, FirstChoice | None]:
    """Return the best setting for `devices` devices; None if every first probe diverged.

    Final runs are compared by their scores, whose 50 updates are half of the time of one group, and
    a small part of that of many groups.
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
        if final.loss is not None:
            losses[groups] = final.loss
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
    why = f"begin with the model of {best}: {_least(losses)}"
    yield Decision("cold", why, best, checkpoint)
    return FirstChoice(best, checkpoint, settings, speeds)


def _least(losses: Mapping[int, float]) -> str:
    """Return the reason for the choice among the final runs with `losses`, by number of groups."""
    each = ", ".join(f"g={groups} {loss:.4f}" for groups, loss in losses.items())
    return f"the least score of the final runs: {each}"


def _final(setting: Setting) -> Trial:
    return Trial(f"cold g={setting.groups}", "final", setting, FINAL)
