"""Tables and verdicts of the study `omnivore`: compute groups and implicit momentum."""

import math
from collections.abc import Callable, Sequence
from statistics import median

from ..quantities import figures, percent
from ..statistical_efficiency import penalties
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


def _verdicts(study: Study) -> str:
    tuned = dict(sorted(best(study).items()))
    seconds = {g: median(s.seconds) for g, s in tuned.items()}
    soonest, most = min(seconds, key=lambda g: seconds[g]), max(tuned)
    synchronous, fixed = named(study, 1, SYNCHRONOUS), named(study, most, FIXED)
    middle = 1 < soonest < most
    slower = median(fixed.seconds) > median(synchronous.seconds)
    faster = seconds[most] < median(synchronous.seconds)
    falls = tuned[most].momentum < tuned[1].momentum
    memoryless = [found for found in momenta(study) if found.law.startswith("exponential")]
    apart = max(abs(found.fit.momentum - found.theory) for found in memoryless)
    steps = max(abs(found.step_share - 1) for found in memoryless)
    lines = [
        ["the best g lies strictly between 1 and N", _word(middle), f"g = {soonest}"],
        [
            "asynchronous with untuned momentum 0.9 is slower than synchronous",
            _word(slower),
            f"{_time(median(fixed.seconds))} against {_time(median(synchronous.seconds))}",
        ],
        [
            "asynchronous with tuned momentum is faster than synchronous",
            _word(faster),
            f"{_time(seconds[most])} against {_time(median(synchronous.seconds))}",
        ],
        [
            "the best explicit momentum falls as g grows",
            _word(falls),
            ", ".join(f"{s.momentum:g}" for s in tuned.values()),
        ],
        [
            "with memoryless steps, implicit momentum is within 0.03 of 1 − 1/g",
            _word(apart <= 0.03),
            f"{apart:.3f} at most",
        ],
        [
            "and the step is within 5 % of η/g",
            _word(steps <= 0.05),
            f"{percent(steps)} at most",
        ],
    ]
    return table(["claim", "here", "measured"], lines)


def _word(holds: bool) -> str:
    return "holds" if holds else "does not hold"


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
