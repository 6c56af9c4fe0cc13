"""Costs of an iteration layer by layer of every device, at the device's own mini-batch."""

from collections.abc import Sequence

from ..core.scheduling.prior_costs import PriorCosts
from ..layout import Layout
from ..scenario import Scenario
from .compute_groups import dealt_batches
from .layer_costs import expected_costs


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
