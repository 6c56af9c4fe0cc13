"""Costs of an iteration layer by layer, as a scenario and a calibration state them.

A device's first plan is made from these costs, and so is a plan without a run. Transfers count the
device's link and the server's link without other traffic.
"""

from collections.abc import Callable, Mapping, Sequence

from ..core.scheduling.prior_costs import PriorCosts, least_pace, through
from ..layout import Layout
from ..pulls import floats
from ..scenario import Scenario
from ..scenario.sections.devices import Group
from ..scenario.sections.virtual_section import LayerShares
from ..schedules import Sequential
from ..units import Seconds
from ..world.laws import Fixed
from . import calibration
from .compute_groups import dealt_batches, dealt_sizes
from .exchange import segment_head, update_sizes


def expected_costs(
    scenario: Scenario,
    group: Group,
    layout: Layout,
    push: Sequence[float],
    examples: int | None = None,
) -> PriorCosts:
    """Return the costs of an iteration on a device of `group`, for a model of `layout`.

    `scenario.virtual.step` and `.layers` must be known. `push` holds the bytes of each layer's
    encoded gradient, as `update_sizes` returns them. `examples`: size of the device's mini-batch;
    None: the whole `training.batch_size`. A CPU quota makes all passes longer, as it
    does in the long run.
    """
    virtual, size = scenario.virtual, scenario.training.batch_size
    if virtual.step is None or virtual.layers is None:
        raise TypeError("virtual.step and virtual.layers must be known")
    step = virtual.time_of(examples or size, size).mean / group.core
    forward, backward = virtual.layers.parts
    server = scenario.server.link
    down, up = (group.link.down, server.up), (group.link.up, server.down)
    # of a delta pull too: how many parameters will change is unknown before the run
    width = float(floats.width(scenario.training.pull.values))
    return PriorCosts(
        forward=tuple(part * step for part in forward),
        backward=tuple(part * step for part in backward),
        pull=tuple(width * (place.stop - place.start) for place in layout.layers),
        push=tuple(push),
        down=through(*down),
        up=through(*up),
        head=segment_head(scenario),
        least_down=least_pace(*down),
        least_up=least_pace(*up),
    )


def device_costs(
    scenario: Scenario, layout: Layout, push: Sequence[float]
) -> dict[str, PriorCosts]:
    """Return the costs on each device by name; arguments as of `expected_costs`."""
    batches = dealt_batches(scenario)
    found: dict[tuple[int, int | None], PriorCosts] = {}  # equal devices share their costs
    costs = {}
    for number, group in enumerate(scenario.devices):
        for name in group.names:
            key = number, batches.get(name)
            if key not in found:
                found[key] = expected_costs(scenario, group, layout, push, batches.get(name))
            costs[name] = found[key]
    return costs


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
