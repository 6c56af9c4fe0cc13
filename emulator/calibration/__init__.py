"""What a worker costs on a core of this host: measured once, kept, and used by virtual time.

A profile's `cpu: 10%` is a share of a core, so it means seconds only once it is known how long a
whole core takes. Containers find out by running; virtual time takes it from here.
"""

from collections.abc import Callable

from ..codecs import AnyCodec
from ..errors import HostError
from .measuring import alongside, measure
from .record import Calibration, described, find, here, store, stored


def calibrated(
    model: str,
    batch_size: int,
    codec: AnyCodec,
    tell: Callable[[str], None],
    *,
    error_feedback: bool = False,
) -> Calibration:
    """The one that is kept for this host and these; if there is none, it is measured and kept.

    `tell` hears what takes a while. A HostError says what the host lacks.
    """
    known = find(*here(), model, batch_size, described(codec, error_feedback))
    if known is not None:
        return known
    try:
        found = measure(model, batch_size, codec, tell, error_feedback=error_feedback)
    except HostError as error:
        error.add_note("with virtual.step and virtual.boot in the scenario nothing is measured")
        raise
    store(found)
    return found


def known(
    model: str, batch_size: int, codec: AnyCodec, *, error_feedback: bool = False
) -> Calibration | None:
    """Return the calibration that is kept for this host and these; None if there is none."""
    return find(*here(), model, batch_size, described(codec, error_feedback))


__all__ = ["Calibration", "alongside", "calibrated", "known", "measure", "store", "stored"]
