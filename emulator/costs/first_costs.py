"""Costs for the first plans of devices in containers, before a device has measured costs."""

from collections.abc import Callable, Mapping

from ..core.scheduling.prior_costs import PriorCosts
from ..scenario import Scenario
from ..scenario.sections.layer_shares import LayerShares
from ..schedules import Sequential
from ..units import Seconds
from ..world.laws import Fixed
from . import calibration
from .compute_groups import dealt_sizes
from .device_costs import device_costs
from .layer_costs import update_sizes


def first_costs(scenario: Scenario, tell: Callable[[str], None]) -> Mapping[str, PriorCosts]:
    """Return the costs of an iteration of each device, by name; {} if models travel whole.

    The computing times are those of this host's calibration of layers, which is made now if there
    is none; `tell` is called with the name of a step that takes seconds. Raises a HostError if the
    host lacks something that the measurement needs.
    """
    training = scenario.training
    if training.cutting == Sequential():
        return {}
    size = dealt_sizes(scenario)[0]
    measured = calibration.layer_seconds(training.trainable, size, tell)
    # the scenario's own `step` and `layers` are assumptions of virtual time
    step = Fixed(Seconds(measured.gradient * training.batch_size / size))
    shares = LayerShares(forward=measured.forward, backward=measured.backward)
    virtual = scenario.virtual.model_copy(update={"step": step, "dealt": None, "layers": shares})
    resolved = scenario.model_copy(update={"virtual": virtual})
    push = update_sizes(training.codec, training.layout)
    return device_costs(resolved, training.layout, push)
