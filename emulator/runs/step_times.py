"""Computing times of a share of a mini-batch, from the scenario or from this host's calibration."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from .. import calibration
from ..calibration import Calibration
from ..errors import ScenarioError
from ..scenario import Scenario
from ..scenario.model import Virtual
from ..units import Seconds
from ..world.laws import Law, LogNormal
from .layer_calibration import with_layers


@dataclass(frozen=True)
class StepTimes:
    """Times of a device's step and of the server's work for an update, on a whole core."""

    laws: dict[int, Law]
    """Law of a step by the number of examples in its mini-batch; at least one entry."""
    serve: float
    """Mean seconds for which an update occupies the server."""
    whole: int | None = None
    """Examples of the entry of `laws` to which other mini-batches are in proportion; None: medians
    are interpolated between the entries."""
    device: float = 1.0
    """Part of a step that a device computes; the rest is the server's, where the model is cut."""
    dense: float = 0.0
    """Mean seconds for which the server's part of a cut model takes the server for an example."""

    def of(self, examples: int) -> tuple[float, Law]:
        """Return a factor and a law: so many `examples` take a device the law's time by it."""
        if examples in self.laws:
            return self.device, self.laws[examples]
        if self.whole is not None:
            return self.device * examples / self.whole, self.laws[self.whole]
        sizes = sorted(self.laws)
        nearest = min(sizes, key=lambda size: abs(size - examples))
        medians = [_median(self.laws[size]) for size in sizes]
        time = float(np.interp(examples, sizes, medians))
        return self.device * time / _median(self.laws[nearest]), self.laws[nearest]


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
        laws = {dealt.examples: dealt.step for dealt in virtual.dealt or ()}
        times = StepTimes(
            {**laws, training.batch_size: virtual.step},
            given.mean if given else 0.0,
            training.batch_size,
        )
        return _divided(scenario, times, tell)
    if not isinstance(training.model, str):
        raise ScenarioError(
            f"virtual.step: is missing: {training.model_name!r} is a layer table, and calibration "
            "cannot measure it: write the time of a mini-batch, for example 500ms"
        )
    measured = {size: _calibrated(scenario, size, tell) for size in sorted(set(sizes))}
    # the work for an update does not depend on the examples behind it
    serve = given.mean if given else float(np.median([one.serve.mean for one in measured.values()]))
    times = StepTimes({size: one.step for size, one in measured.items()}, serve)
    return _divided(scenario if assumed else _unassumed(scenario), times, tell)


def _unassumed(scenario: Scenario) -> Scenario:
    """Return `scenario` without the assumptions of virtual time."""
    return scenario.model_copy(update={"virtual": Virtual()})


def _divided(scenario: Scenario, times: StepTimes, tell: Callable[[str], None]) -> StepTimes:
    """Return `times` with the parts of a step that device and server compute, if a cut divides it.

    As in virtual time, the shares of the layers divide the step, unless `virtual.dense` gives the
    server a time of its own.
    """
    cut, virtual = scenario.training.cut, scenario.virtual
    if cut is None:
        return times
    layers = with_layers(scenario, tell).virtual.layers
    if layers is None:
        raise TypeError("virtual.layers must be known")
    forward, backward = layers.parts
    device = sum(forward[: cut.layer]) + sum(backward[: cut.layer])
    size, law = max(times.laws.items())
    dense = law.mean * (1 - device) / size
    if virtual.dense is not None:
        dense = virtual.dense.mean / scenario.training.batch_size
    return replace(times, device=device, dense=dense)


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
