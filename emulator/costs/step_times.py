"""Computing times of a share of a mini-batch, from the scenario or from this host's calibration."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..errors import ScenarioError
from ..scenario import Scenario
from ..scenario.sections.dealt_steps import BatchTime
from ..scenario.sections.virtual_section import Virtual
from ..world.laws import LogNormal
from . import calibration
from .calibration import Calibration
from .layer_calibration import with_layers


@dataclass(frozen=True)
class StepTimes:
    """Times of a device's step and of the server's work for an update, on a whole core."""

    time_of: Callable[[int], BatchTime]
    """Returns the time of a mini-batch of so many examples, for all layers."""
    serve: float
    """Mean seconds for which an update occupies the server."""
    device: float = 1.0
    """Part of a step that a device computes; the rest is the server's, where the model is cut."""
    dense: float = 0.0
    """Mean seconds for which the server's part of a cut model takes the server for an example."""

    def of(self, examples: int) -> BatchTime:
        """Return the time that a mini-batch of `examples` takes a device."""
        law, share = self.time_of(examples)
        return BatchTime(law, self.device * share)


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
        size = training.batch_size
        times = StepTimes(
            lambda examples: virtual.time_of(examples, size), given.mean if given else 0.0
        )
        return _divided(scenario, times, size, tell)
    if not isinstance(training.model, str):
        raise ScenarioError(
            f"virtual.step: is missing: {training.model_name!r} is a layer table, and calibration "
            "cannot measure it: write the time of a mini-batch, for example 500ms"
        )
    measured = {size: _calibrated(scenario, size, tell) for size in sorted(set(sizes))}
    # the work for an update does not depend on the examples behind it
    serve = given.mean if given else float(np.median([one.serve.mean for one in measured.values()]))
    laws = {size: one.step for size, one in measured.items()}
    times = StepTimes(partial(_interpolated, laws), serve)
    return _divided(scenario if assumed else _unassumed(scenario), times, max(laws), tell)


def _interpolated(laws: Mapping[int, LogNormal], examples: int) -> BatchTime:
    """Return the time of `examples`, from the medians of `laws` by the number of examples.

    The law is that of the nearest number, scaled to the median in between.
    """
    sizes = sorted(laws)
    medians = [float(laws[size].lognormal[0]) for size in sizes]
    nearest = min(sizes, key=lambda size: abs(size - examples))
    share = float(np.interp(examples, sizes, medians)) / medians[sizes.index(nearest)]
    return BatchTime(laws[nearest], share)


def _unassumed(scenario: Scenario) -> Scenario:
    """Return `scenario` without the assumptions of virtual time."""
    return scenario.model_copy(update={"virtual": Virtual()})


def _divided(
    scenario: Scenario, times: StepTimes, size: int, tell: Callable[[str], None]
) -> StepTimes:
    """Return `times` with the parts of a step that device and server compute, if a cut divides it.

    The server's part is that of a mini-batch of `size` examples. As in virtual time, the shares of
    the layers divide the step, unless `virtual.dense` gives the server a time of its own.
    """
    cut, virtual = scenario.training.cut, scenario.virtual
    if cut is None:
        return times
    layers = with_layers(scenario, tell).virtual.layers
    if layers is None:
        raise TypeError("virtual.layers must be known")
    forward, backward = layers.parts
    device = sum(forward[: cut.layer]) + sum(backward[: cut.layer])
    dense = times.of(size).mean * (1 - device) / size
    if virtual.dense is not None:
        dense = virtual.dense.mean / scenario.training.batch_size
    return replace(times, device=device, dense=dense)


def _calibrated(scenario: Scenario, size: int, tell: Callable[[str], None]) -> Calibration:
    training = scenario.training
    return calibration.calibrated(
        training.trainable, size, training.codec, tell, error_feedback=training.error_feedback
    )
