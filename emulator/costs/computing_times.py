"""The computing times of a scenario's devices, from the scenario or from this host's calibration.

The devices of a compute group have mini-batches of their own sizes, and each size is measured. The
layers' shares of a step are known likewise. `step_times` has the times of any share of a batch, for
predictions.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..core.sharding.server_shards import balanced_shards
from ..errors import ScenarioError
from ..scenario import Scenario
from ..scenario.sections.virtual_section import (
    BatchTime,
    DealtStep,
    LayerShares,
    Virtual,
    shares_by_counts,
)
from ..schedules import Sequential
from ..units import Seconds
from ..world.laws import LogNormal
from . import calibration
from .calibration import Calibration
from .compute_groups import dealt_sizes


def with_times(scenario: Scenario, tell: Callable[[str], None]) -> Scenario:
    """Return `scenario` with laws for steps, boots and the server's work.

    Open laws come from this host's calibration, measured now if there is none. `tell` is called
    with the name of a step that takes seconds. Raises a HostError if the host lacks something that
    the measurement needs.
    """
    if not scenario.virtual.open:
        return scenario
    return timed(scenario, [_calibrated(scenario, size, tell) for size in measured_sizes(scenario)])


def timed(scenario: Scenario, measured: Sequence[Calibration]) -> Scenario:
    """Return `scenario` with the times of `measured` in place of missing ones.

    The first calibration is of the devices' largest mini-batch, from which `step` follows in
    proportion: the time of a whole `batch_size`. Other sizes have times of their own.
    """
    largest, *others = measured
    virtual, whole = scenario.virtual, scenario.training.batch_size
    dealt = virtual.dealt
    if virtual.step is None:
        dealt = tuple(DealtStep(examples=each.batch_size, step=each.step) for each in others)
        dealt = dealt or None
    virtual = virtual.filled(
        step=_scaled(largest.step, whole / dealt_sizes(scenario)[0]),
        boot=largest.boot,
        serve=largest.serve,
    )
    return scenario.model_copy(update={"virtual": virtual.model_copy(update={"dealt": dealt})})


def times_known(scenario: Scenario) -> bool:
    """Return whether the laws that `scenario` leaves open are in the cache of calibrations.

    They also count as known for a layer table, of which nothing is measured.
    """
    if not scenario.virtual.open or not isinstance(scenario.training.model, str):
        return True
    return all(known(scenario, size) is not None for size in measured_sizes(scenario))


def known_time(scenario: Scenario, examples: int, *, assumed: bool = True) -> float | None:
    """Return the mean seconds of a mini-batch of `examples` on a whole core.

    They come from `virtual.step` if it may be `assumed`, or else from this host's cache of
    calibrations; None: from neither.
    """
    training, virtual = scenario.training, scenario.virtual
    if assumed and virtual.step is not None:
        return virtual.time_of(examples, training.batch_size).mean
    if not isinstance(training.model, str):
        return None
    measured = known(scenario, examples)
    return None if measured is None else measured.step.mean


def known(scenario: Scenario, examples: int) -> Calibration | None:
    """Return this host's stored calibration of a mini-batch of `examples`, or None."""
    training = scenario.training
    return calibration.known(
        training.trainable, examples, training.codec, error_feedback=training.error_feedback
    )


def measured_sizes(scenario: Scenario) -> list[int]:
    """Return the sizes of mini-batches to measure for the open laws, the largest first."""
    largest, *others = dealt_sizes(scenario)
    return [largest, *(others if scenario.virtual.step is None else [])]


def _scaled(law: LogNormal, factor: float) -> LogNormal:
    """Return the law of `factor` times a draw from `law`."""
    median, sigma = law.lognormal
    return law if factor == 1 else LogNormal((Seconds(median * factor), sigma))


# -- layers ----------------------------------------------------------------------------------------


def with_layers(scenario: Scenario, tell: Callable[[str], None]) -> Scenario:
    """Return `scenario` with `virtual.layers`.

    Without the key a layer table has shares by its counts, and a model that trains has this host's
    calibrated ones, measured now if there are none. `tell` is called with the name of a step that
    takes seconds. Raises a HostError if the host lacks something that the measurement needs.
    """
    training = scenario.training
    if scenario.virtual.layers is not None:
        return scenario
    if isinstance(training.model, str):
        measured = calibration.layer_seconds(training.trainable, dealt_sizes(scenario)[0], tell)
        layers = LayerShares(forward=measured.forward, backward=measured.backward)
    else:
        layers = shares_by_counts(training.model)
    virtual = scenario.virtual.model_copy(update={"layers": layers})
    return scenario.model_copy(update={"virtual": virtual})


def needs_layers(scenario: Scenario) -> bool:
    """Return whether virtual time has to know the layers' shares of a step.

    Schedules cut pulls and pushes between layers; a cut model has layers on both sides of the cut.
    """
    training = scenario.training
    return training.cutting != Sequential() or training.fully_connected is not None


def layers_known(scenario: Scenario) -> bool:
    """Return whether a run of `scenario` in virtual time needs no measurement of layers."""
    training = scenario.training
    if not needs_layers(scenario) or scenario.virtual.layers is not None:
        return True
    if not isinstance(training.model, str):
        return True
    return calibration.known_layers(training.trainable, dealt_sizes(scenario)[0]) is not None


# -- shares of a mini-batch ------------------------------------------------------------------------


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
    # an update waits for the largest shard of the server
    shards = balanced_shards(training.layout, scenario.server.shards)
    largest = max(shards.shares(training.layout))
    if assumed and virtual.step is not None:
        size = training.batch_size
        times = StepTimes(
            lambda examples: virtual.time_of(examples, size),
            largest * given.mean if given else 0.0,
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
    times = StepTimes(partial(_interpolated, laws), largest * serve)
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
