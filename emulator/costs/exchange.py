"""Bytes on the wire between a device and the server for an update, from a scenario.

Heads and framing of activations, some ten bytes for each message, are left out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..core import wire
from ..core.cut.crossing_bytes import CrossingBytes, crossing_bytes
from ..core.wire.framing import Form
from ..core.wire.messages import ModelReply, Pull, Update
from ..pulls import floats
from ..scenario import Scenario
from .layer_costs import update_sizes

_TYPICAL = 1000
"""A version and a ticket, which take as many bytes as most of a run's."""
_ENTRIES = 256
"""Entries of an array long enough for the longer framing."""


@dataclass(frozen=True)
class CycleTraffic:
    """Bytes of the messages of a device in an iteration."""

    pull: float
    """The model, whole: how much of it a coded pull leaves out is unknown before the run."""
    push: float
    """The update and the request for the next model, which leave one behind the other."""
    crossing: Callable[[int], CrossingBytes]
    """Returns the bytes that cross the cut of the model for so many examples."""


_UNCUT = CrossingBytes(0, 0, 0)


def cycle_traffic(scenario: Scenario) -> CycleTraffic:
    """Return the bytes of an iteration of a device of `scenario`."""
    training, form = scenario.training, Form(scenario.server.encrypt)
    layout, name = training.device_layout, scenario.devices[0].names[0]
    array = np.zeros(_ENTRIES, np.float32)
    reply = ModelReply(_TYPICAL, _TYPICAL, array)
    update = Update(name, _TYPICAL, 1.0, 1.0, (array.view(np.uint8).data,))
    request = Pull(name, _TYPICAL)
    heads = [wire.size(message, form) - len(array) * array.itemsize for message in (reply, update)]
    model = float(floats.width(training.pull.values)) * layout.size
    gradient = sum(update_sizes(training.codec, layout))
    return CycleTraffic(
        pull=heads[0] + model,
        push=heads[1] + gradient + wire.size(request, form),
        crossing=_crossing(scenario),
    )


def _crossing(scenario: Scenario) -> Callable[[int], CrossingBytes]:
    training = scenario.training
    if training.cut is None:
        return lambda rows: _UNCUT
    return partial(crossing_bytes, training.network, training.cut)
