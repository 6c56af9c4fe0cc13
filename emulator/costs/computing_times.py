"""The computing times of a scenario's devices, from the scenario or from this host's calibration.

The devices of a compute group have mini-batches of their own sizes, and each size is measured.
"""

from collections.abc import Callable, Sequence

from ..scenario import Scenario
from ..scenario.sections.dealt_steps import DealtStep
from ..units import Seconds
from ..world.laws import LogNormal
from .calibration import Calibration, calibrated, known
from .compute_groups import dealt_sizes


def with_times(scenario: Scenario, tell: Callable[[str], None]) -> Scenario:
    """Return `scenario` with laws for steps, boots and the server's work.

    Open laws come from this host's calibration, measured now if there is none. `tell` is called
    with the name of a step that takes seconds. Raises a HostError if the host lacks something that
    the measurement needs.
    """
    if not scenario.virtual.open:
        return scenario
    training = scenario.training
    measured = [
        calibrated(
            training.trainable,
            size,
            training.codec,
            tell,
            error_feedback=training.error_feedback,
        )
        for size in measured_sizes(scenario)
    ]
    return timed(scenario, measured)


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
    training = scenario.training
    if not scenario.virtual.open or not isinstance(training.model, str):
        return True
    return all(
        known(training.trainable, size, training.codec, error_feedback=training.error_feedback)
        is not None
        for size in measured_sizes(scenario)
    )


def known_time(scenario: Scenario, examples: int) -> float | None:
    """Return the mean seconds of a mini-batch of `examples` on a whole core.

    They come from `virtual.step`, or else from this host's cache of calibrations; None: from
    neither.
    """
    training, virtual = scenario.training, scenario.virtual
    if virtual.step is not None:
        return virtual.time_of(examples, training.batch_size).mean
    if not isinstance(training.model, str):
        return None
    feedback = training.error_feedback
    calibration = known(training.trainable, examples, training.codec, error_feedback=feedback)
    return None if calibration is None else calibration.step.mean


def measured_sizes(scenario: Scenario) -> list[int]:
    """Return the sizes of mini-batches to measure for the open laws, the largest first."""
    largest, *others = dealt_sizes(scenario)
    return [largest, *(others if scenario.virtual.step is None else [])]


def _scaled(law: LogNormal, factor: float) -> LogNormal:
    """Return the law of `factor` times a draw from `law`."""
    median, sigma = law.lognormal
    return law if factor == 1 else LogNormal((Seconds(median * factor), sigma))
