"""The CPU time of a worker on a core of this host: measured once, stored, used by virtual time.

A profile's `cpu: 10%` is a share of a core. The seconds of a step follow from the time that a whole
core takes: containers take this time by running, virtual time takes the calibrated time.
"""

from collections.abc import Callable

from ...codecs import AnyCodec
from ...errors import HostError
from .measuring import alongside, measure, measure_layers
from .record import (
    Calibration,
    LayerSeconds,
    described,
    find,
    find_layers,
    here,
    store,
    store_layers,
)


def calibrated(
    model: str,
    batch_size: int,
    codec: AnyCodec,
    tell: Callable[[str], None],
    *,
    error_feedback: bool = False,
) -> Calibration:
    """Return this host's calibration of `model`; measure and store it if the cache has none.

    `tell` is called with the name of each step that takes seconds. Raises a HostError if the host
    lacks something that the measurement needs.
    """
    cached = known(model, batch_size, codec, error_feedback=error_feedback)
    if cached is not None:
        return cached
    try:
        measured = measure(model, batch_size, codec, tell, error_feedback=error_feedback)
    except HostError as error:
        error.add_note("with virtual.step and virtual.boot in the scenario nothing is measured")
        raise
    store(measured)
    return measured


def known(
    model: str, batch_size: int, codec: AnyCodec, *, error_feedback: bool = False
) -> Calibration | None:
    """Return this host's stored calibration of `model` with `codec`, or None."""
    return find(*here(), model, batch_size, described(codec, error_feedback))


def layer_seconds(model: str, batch_size: int, tell: Callable[[str], None]) -> LayerSeconds:
    """Return the CPU seconds of the layers of `model` on a core of this host.

    They are measured and stored if the cache has none. A schedule that cuts the model into segments
    needs them; a step's law does not. Arguments and errors as of `calibrated`.
    """
    cached = known_layers(model, batch_size)
    if cached is not None:
        return cached
    try:
        measured = measure_layers(model, batch_size, tell)
    except HostError as error:
        error.add_note("with virtual.layers in the scenario no layer is measured")
        raise
    store_layers(measured)
    return measured


def known_layers(model: str, batch_size: int) -> LayerSeconds | None:
    """Return this host's stored CPU seconds of the layers of `model`, or None."""
    return find_layers(*here(), model, batch_size)


__all__ = [
    "Calibration",
    "LayerSeconds",
    "alongside",
    "calibrated",
    "known",
    "known_layers",
    "layer_seconds",
    "measure",
    "store",
]
