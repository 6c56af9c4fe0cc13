"""The stop conditions of a run: their limits, and a table with one row for each of them.

A new condition takes a field of `Stop`, a row of `CONDITIONS`, and a key of the scenario's section
`stop`; one of a workload takes a row of `OF_WORKLOAD`, and the key.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Stop:
    """The stop condition: a run is over once the first of these holds; None never holds."""

    updates: int | None = None
    accuracy: float | None = None
    """Share of the test set, from 0 to 1."""
    loss: float | None = None
    """Mean loss on the test set."""
    time: float | None = None
    """Seconds from the run's zero."""

    def reached(self, score: "Scored") -> str | None:
        """Return the key of the first condition that `score` meets, or None."""
        for key, condition in CONDITIONS.items():
            limit = getattr(self, key)
            if condition.met is not None and limit is not None and condition.met(limit, score):
                return key
        return None


class Scored(Protocol):
    """The score of a model on the test set; None stands for a number that is not finite."""

    @property
    def accuracy(self) -> float | None: ...
    @property
    def loss(self) -> float | None: ...


@dataclass(frozen=True)
class StopCondition:
    """A stop condition: its words, the outcome of a run that meets it, and its refusals."""

    phrase: Callable[[Any], str]
    """Returns the limit in the words of `emulate check`."""
    outcome: str = "success"
    met: Callable[[Any, Scored], bool] | None = None
    """Returns whether a score meets the limit; None: the server counts updates and time itself."""
    unlearnt: str = ""
    """Why it is refused where no model is learnt; empty: it is not."""
    measured_later: str = ""
    """Why it is refused where the model is measured after the run; empty: it is not."""
    regression: str = ""
    """Why it is refused for a regression; empty: it is not."""


def _scored(
    quantity: str,
    phrase: Callable[[Any], str],
    met: Callable[[Any, Scored], bool],
    regression: str = "",
) -> StopCondition:
    """Return the row of a condition on a `quantity` of the score."""
    return StopCondition(
        phrase,
        met=met,
        unlearnt="with virtual.learner none nobody learns: leave it out",
        measured_later=f"with evaluate.when after no {quantity} is known before the run has ended, "
        "so none can end it: stop by updates or time, or write evaluate.when during",
        regression=regression,
    )


CONDITIONS: dict[str, StopCondition] = {
    "updates": StopCondition(lambda updates: f"{updates} updates"),
    "accuracy": _scored(
        "accuracy",
        lambda accuracy: f"accuracy {accuracy}",
        lambda least, score: score.accuracy is not None and score.accuracy >= least,
        regression="a regression has no accuracy: use updates, loss or time",
    ),
    "loss": _scored(
        "loss",
        lambda loss: f"loss {loss:g}",
        lambda most, score: score.loss is not None and score.loss <= most,
    ),
    "time": StopCondition(str),
}
"""The stop conditions of a training by their keys in the section `stop`. The key is also the reason
in the record `stop`."""

OF_WORKLOAD: dict[str, StopCondition] = {
    "driver": StopCondition(lambda driver: "the end of the driver"),
    "metric": StopCondition(
        lambda goals: " or ".join(f"{name} {goal}" for name, goal in goals.items())
    ),
    "time": CONDITIONS["time"],
}
"""The stop conditions of a workload, which the conductor looks at."""

KNOWN = CONDITIONS | OF_WORKLOAD
"""The stop conditions of both."""

SCORED = frozenset(key for key, condition in CONDITIONS.items() if condition.met)
"""Keys of the conditions that a score of the model meets."""

OUTCOMES: dict[str, str] = {
    **{key: condition.outcome for key, condition in KNOWN.items()},
    **{reason: reason for reason in ("stopped", "canceled", "failed")},
    "diverged": "failed",
}
"""The outcome of a run, by the reason in the record `stop`."""
