"""Computing times of a share of a mini-batch, from the scenario or from this host's calibration."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from .. import calibration
from ..calibration import Calibration
from ..errors import ScenarioError
from ..scenario import Scenario
from ..units import Seconds
from ..world.laws import Law, LogNormal


@dataclass(frozen=True)
class StepTimes:
    """Times of a device's step and of the server's work for an update, on a whole core."""

    laws: dict[int, Law]
    """Law of a step by the number of examples in its mini-batch; at least one entry."""
    serve: float
    """Mean seconds for which an update occupies the server."""
    proportional: bool
    """Whether a step's time is in proportion to its examples; otherwise medians are interpolated
    between the entries of `laws`."""

    def of(self, examples: int) -> tuple[float, Law]:
        """Return a factor and a law: a step with so many `examples` takes the law's time by it."""
        if examples in self.laws:
            return 1.0, self.laws[examples]
        sizes = sorted(self.laws)
        nearest = min(sizes, key=lambda size: abs(size - examples))
        if self.proportional:
            return examples / nearest, self.laws[nearest]
        medians = [_median(self.laws[size]) for size in sizes]
        time = float(np.interp(examples, sizes, medians))
        return time / _median(self.laws[nearest]), self.laws[nearest]


def step_times(
    scenario: Scenario, sizes: Iterable[int], tell: Callable[[str], None], *, assumed: bool = True
) -> StepTimes:
    """Return the times of steps with the numbers of examples in `sizes`.

    If `assumed`, `virtual.step` is the time of `training.batch_size` examples, a share of them
    takes its share of the time, and a missing `virtual.serve` is 0. Without `virtual.step`, or for
    containers, which are not `assumed` to take any time, this host is calibrated at each size,
    which takes seconds; `tell` is called with the name of each step. Raises a HostError if the host
    lacks something for that, and a ScenarioError for a layer table without `virtual.step`.
    """
    training, virtual = scenario.training, scenario.virtual
    given = virtual.serve if assumed else None
    if assumed and virtual.step is not None:
        laws = {training.batch_size: virtual.step}
        return StepTimes(laws, given.mean if given else 0.0, proportional=True)
    if not isinstance(training.model, str):
        raise ScenarioError(
            f"virtual.step: is missing: {training.model_name!r} is a layer table, and calibration "
            "cannot measure it: write the time of a mini-batch, for example 500ms"
        )
    measured = {size: _calibrated(scenario, size, tell) for size in sorted(set(sizes))}
    # the work for an update does not depend on the examples behind it
    serve = given.mean if given else float(np.median([one.serve.mean for one in measured.values()]))
    return StepTimes({size: one.step for size, one in measured.items()}, serve, proportional=False)


def _calibrated(scenario: Scenario, size: int, tell: Callable[[str], None]) -> Calibration:
    training = scenario.training
    return calibration.calibrated(
        training.trainable, size, training.codec, tell, error_feedback=training.error_feedback
    )


def _median(law: Law) -> float:
    """Return the median of a calibrated law, which is log-normal."""
    if not isinstance(law, LogNormal):
        raise TypeError(f"{law} was not calibrated")
    median: Seconds = law.lognormal[0]
    return float(median)
