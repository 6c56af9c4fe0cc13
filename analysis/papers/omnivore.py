"""Tables and verdicts of the study `omnivore`: compute groups and implicit momentum."""

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from ..facts.group_updates import penalties
from ..quantities import figures, percent
from .claim_rules import all_inside, all_within, falls, least_inside, less, word
from .folder import Study
from .markdown import never_or, table
from .omnivore_data import (
    FIXED,
    SYNCHRONOUS,
    TARGET,
    Measured,
    Strategy,
    best,
    momenta,
    named,
)
from .omnivore_figures import FIGURES

COMMAND = "make figure-omnivore"

__all__ = ["COMMAND", "FIGURES", "tables"]


def tables(study: Study) -> str:
    """Return the verdicts, then efficiencies by g, fixed strategies, and measured momentum."""
    return "\n\n".join(
        [
            _verdicts(study),
            f"Each number of groups at its best momentum and learning rate, to {_goal()}; medians "
            "of five seeds (least – most):",
            _efficiencies(study),
            f"Fixed and tuned strategies, to {_goal()}:",
            _compared(study),
            "Implicit momentum and step, fitted to the runs (95 % of the resamples):",
            _momenta(study),
        ]
    )


def _goal() -> str:
    return f"{percent(TARGET, 0)} test accuracy"


# -- verdicts --------------------------------------------------------------------------------------

APART, STEPS_APART = 0.03, 0.05
"""Largest distances at which momentum, and the step as a share of η/g, count as the theory's."""


class Tuned(NamedTuple):
    """A number of groups at its best momentum and learning rate."""

    momentum: float
    seconds: float
    """Median time to the target; infinite if it was never reached."""


class Implicit(NamedTuple):
    """Implicit momentum with memoryless steps, beside the theory's."""

    theory: float
    momentum: float
    least: float
    most: float
    """Ends of the interval of `momentum`."""
    step_share: float
    """Step as a share of η/g."""


def _verdicts(study: Study) -> str:
    tuned = {g: Tuned(s.momentum, median(s.seconds)) for g, s in sorted(best(study).items())}
    memoryless = [
        Implicit(
            found.theory,
            found.fit.momentum,
            *(found.fit.momentum_range or (math.nan, math.nan)),
            found.step_share,
        )
        for found in momenta(study)
        if found.law.startswith("exponential")
    ]
    untuned = median(named(study, 1, SYNCHRONOUS).seconds)
    fixed = median(named(study, max(tuned), FIXED).seconds)
    return table(["claim", "here", "measured"], verdicts(tuned, untuned, fixed, memoryless))


def verdicts(
    tuned: Mapping[int, Tuned], untuned: float, fixed: float, memoryless: Sequence[Implicit]
) -> list[list[str]]:
    """Return the lines of the claims: claim, verdict, and the numbers that decide.

    `tuned` is by the number of groups, in ascending order. `untuned` is the time of one group with
    momentum 0.9 at its best rate, and `fixed` that of as many groups as devices with momentum 0.9
    at the same rate.
    """
    each = list(tuned.values())
    synchronous, asynchronous = each[0].seconds, each[-1].seconds
    apart = [found.momentum - found.theory for found in memoryless]
    steps = [found.step_share - 1 for found in memoryless]
    outside = [f"{f.theory:.3f}" for f in memoryless if not f.least <= f.theory <= f.most]
    return [
        [
            "the best g lies strictly between 1 and N",
            word(least_inside([one.seconds for one in each])),
            ", ".join(f"{_time(one.seconds)} (g = {g})" for g, one in tuned.items()),
        ],
        [
            "asynchronous with momentum 0.9 is slower than synchronous with momentum 0.9",
            word(less(untuned, fixed)),
            f"{_time(fixed)} against {_time(untuned)}",
        ],
        [
            "asynchronous with tuned momentum is faster than synchronous with momentum 0.9",
            word(less(asynchronous, untuned)),
            f"{_time(asynchronous)} against {_time(untuned)}",
        ],
        [
            "asynchronous with tuned momentum is faster than synchronous with tuned momentum",
            word(less(asynchronous, synchronous)),
            f"{_time(asynchronous)} against {_time(synchronous)}",
        ],
        [
            "the best explicit momentum falls as g grows, and rises at no step",
            word(falls([one.momentum for one in each])),
            ", ".join(f"{one.momentum:g}" for one in each),
        ],
        [
            f"with memoryless steps, implicit momentum is within {APART} of 1 − 1/g for each g",
            word(all_within(apart, APART)),
            f"{max(map(abs, apart), default=math.nan):.3f} at most",
        ],
        [
            "and its interval has 1 − 1/g inside for each g",
            word(all_inside([(f.least, f.theory, f.most) for f in memoryless])),
            f"outside: {', '.join(outside)}" if outside else "all inside",
        ],
        [
            f"and the step is within {percent(STEPS_APART, 0)} of η/g for each g",
            word(all_within(steps, STEPS_APART)),
            f"{percent(max(map(abs, steps), default=math.nan))} at most",
        ],
    ]


def _time(value: float) -> str:
    return never_or(lambda known: f"{known:.1f} s")(value)


# -- tables ----------------------------------------------------------------------------------------


def _efficiencies(study: Study) -> str:
    tuned = dict(sorted(best(study).items()))
    penalty = penalties({g: median(s.updates) for g, s in tuned.items()})
    return table(
        ["g", "momentum, rate", "HE (ms)", "formula", "queue", "SE", "P_SE", "time (s)"],
        [[str(g), *_efficiency(s), *_last(s, penalty[g])] for g, s in tuned.items()],
    )


def _efficiency(strategy: Strategy) -> list[str]:
    known = (strategy.predicted.get(key) for key in ("formula", "queue"))
    return [
        f"{strategy.momentum:g}, {strategy.row.rate}",
        _span(strategy.pace, lambda seconds: f"{1e3 * seconds:.1f}"),
        *("–" if seconds is None else f"{1e3 * seconds:.1f}" for seconds in known),
    ]


def _last(strategy: Strategy, penalty: float) -> list[str]:
    words = "–" if math.isnan(penalty) else f"{penalty:.1f}"
    times = _span(strategy.seconds, lambda seconds: f"{seconds:.1f}")
    return [_span(strategy.updates, figures), words, times]


def _compared(study: Study) -> str:
    tuned = best(study)
    most = max(tuned)
    shown = {
        "synchronous, momentum 0.9": named(study, 1, SYNCHRONOUS),
        "synchronous, tuned": tuned[1],
        "asynchronous, momentum 0.9, rate of the synchronous": named(study, most, FIXED),
        "asynchronous, momentum 0.9, tuned rate": named(study, most, SYNCHRONOUS),
        "asynchronous, tuned": tuned[most],
    }
    lines = [
        [name, f"{s.momentum:g}", s.row.rate, _span(s.seconds, lambda at: f"{at:.1f}")]
        for name, s in shown.items()
    ]
    return table(["", "momentum", "rate", "time (s)"], lines)


def _momenta(study: Study) -> str:
    return table(
        ["", "g", "1 − 1/g", "momentum", "step · g/η", "runs"],
        [_measured(found) for found in momenta(study)],
    )


def _measured(found: Measured) -> list[str]:
    low, high = found.fit.momentum_range or (math.nan, math.nan)
    least, most = found.step_share_range
    return [
        found.law,
        str(found.groups),
        f"{found.theory:.3f}",
        f"{found.fit.momentum:.3f} ({low:.3f} – {high:.3f})",
        f"{found.step_share:.3f} ({least:.3f} – {most:.3f})",
        str(found.fit.runs),
    ]


def _span(values: Sequence[float], words: Callable[[float], str]) -> str:
    shown = never_or(words)
    return f"{shown(median(values))} ({shown(min(values))} – {shown(max(values))})"
