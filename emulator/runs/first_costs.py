"""Costs from which devices in containers make their first plans, before they have measured any."""

from collections.abc import Mapping

from .. import calibration
from ..core.prior_costs import PriorCosts
from ..scenario import Scenario
from ..scenario.layer_shares import LayerShares
from ..schedules import Sequential
from ..units import Seconds
from ..world.laws import Fixed, Law
from .expected_costs import expected_costs, update_sizes


def first_costs(scenario: Scenario) -> Mapping[str, PriorCosts]:
    """Return the costs of an iteration of each device, by name; {} if models travel whole.

    The computing times are this host's calibrated ones. Without a calibration computing counts as
    taking no time, so the first plan hides nothing, and the next plan knows the measured times.
    """
    if scenario.training.schedule == Sequential():
        return {}
    layout = scenario.training.layout
    # the scenario's own `step` and `layers` are assumptions of virtual time
    virtual = scenario.virtual.model_copy(
        update={"step": _step(scenario), "layers": _shares(len(layout.layers))}
    )
    resolved = scenario.model_copy(update={"virtual": virtual})
    push = update_sizes(scenario.training.codec, layout)
    return {
        name: costs
        for group in scenario.devices
        for costs in [expected_costs(resolved, group, layout, push)]
        for name in group.names
    }


def _step(scenario: Scenario) -> Law:
    """Return the calibrated law of a step on this host; zero seconds without a calibration."""
    training = scenario.training
    known = calibration.known(
        training.trainable,
        training.batch_size,
        training.codec,
        error_feedback=training.error_feedback,
    )
    return known.step if known else Fixed(Seconds(0))


def _shares(layers: int) -> LayerShares:
    """Return equal shares of a step; a backward pass takes about twice as long as a forward."""
    return LayerShares(forward=(1.0,) * layers, backward=(2.0,) * layers)
