"""Costs of an iteration layer by layer, as a scenario and a calibration state them.

A device's first plan is made from these costs, and so is a plan without a run. Transfers count the
device's link and the server's link without other traffic.
"""

from collections.abc import Sequence

import numpy as np

from ..codecs.base import Codec
from ..codecs.expected_update import expected_update
from ..core import wire
from ..core.scheduling.prior_costs import PriorCosts, least_pace, through
from ..core.wire.framing import Form
from ..core.wire.messages import ModelSegment
from ..layout import Layout
from ..pulls import floats
from ..scenario.model import Scenario
from ..scenario.sections.devices import Group

_TYPICAL = 1000
"""A version and a ticket, which take as many bytes as most of a run's."""
_ENTRIES = 256
"""Entries of an array long enough for the longer framing."""


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
    cpu = group.profile.cpu if group.profile else None
    step = virtual.time_of(examples or size, size).mean / min(1.0, float(cpu or 1))
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
        head=_head(Form(scenario.server.encrypt)),
        least_down=least_pace(*down),
        least_up=least_pace(*up),
    )


def update_sizes(codec: Codec, layout: Layout) -> tuple[float, ...]:
    """Return the expected bytes of the layers' gradients after encoding by `codec`."""
    known: dict[tuple[tuple[str, tuple[int, ...]], ...], float] = {}
    sizes = []
    for layer in range(1, len(layout.layers) + 1):
        part = layout.part((layer, layer))
        # deep networks repeat their layers, and a codec sees only kinds and shapes of variables
        alike = tuple((variable.kind, variable.shape) for variable in part.variables)
        if alike not in known:
            known[alike] = float(sum(map(len, expected_update(codec, part))))
        sizes.append(known[alike])
    return tuple(sizes)


def _head(form: Form) -> float:
    """Return the bytes on the wire of a segment beside its parameters."""
    theta = np.zeros(_ENTRIES, np.float32)
    piece = ModelSegment(_TYPICAL, _TYPICAL, (1, 1), theta)
    return float(wire.size(piece, form) - theta.nbytes)
