"""The layers' shares of a training step, from the scenario or from this host's calibration."""

from collections.abc import Callable

from ..scenario import Scenario
from ..scenario.sections.layer_shares import LayerShares, shares_by_counts
from ..schedules import Sequential
from . import calibration
from .compute_groups import dealt_sizes


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
