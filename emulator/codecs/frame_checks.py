"""What codecs refuse: at the source a gradient that diverged, on the wire one that lies."""

import numpy as np

from ..errors import WireError
from ..layout import Layout
from ..vectors import Buffer, Frames, NotFinite, Vector

_FLOAT = np.dtype("<f4")


def check_shape(gradient: Vector, layout: Layout) -> None:
    """ValueError unless the gradient is one float32 for each parameter."""
    if gradient.dtype != np.float32 or gradient.shape != (layout.size,):
        found = f"{gradient.dtype} of shape {gradient.shape}"
        raise ValueError(f"a gradient is float32 of shape ({layout.size},), not {found}")


def check_finite(gradient: Vector, layout: Layout) -> None:
    """As `fit`, and NotFinite unless every entry is."""
    check_shape(gradient, layout)
    if not np.isfinite(gradient).all():
        raise not_finite_error(gradient, layout)


def not_finite_error(gradient: Vector, layout: Layout) -> NotFinite:
    """The error for a gradient that holds a NaN or an infinity: it names the first variable."""
    for variable, place in layout:
        wrong = gradient[place][~np.isfinite(gradient[place])]
        if wrong.size:
            found = f"the gradient of {variable.name} holds {wrong[0]}"
            return NotFinite(f"{found}: training diverged; a smaller learning rate may help")
    raise AssertionError("every entry is finite")


def check_count(frames: Frames, expected: int) -> Frames:
    """The frames, if they are as many as expected."""
    if len(frames) != expected:
        raise WireError(f"an encoded gradient of {len(frames)} frames, expected {expected}")
    return frames


def scales(frame: Buffer, count: int) -> Vector:
    """So many finite float32, none of them below zero, read where they lie."""
    if len(frame) != count * _FLOAT.itemsize:
        raise WireError(f"{len(frame)} bytes of scales, expected {count} float32")
    values: Vector = np.frombuffer(frame, _FLOAT)
    if not (np.isfinite(values) & (values >= 0)).all():
        raise WireError("a scale is not a number from zero up")
    return values


def floats(frame: Buffer, most: int) -> Vector:
    """Up to `most` finite float32, read where they lie."""
    entries, rest = divmod(len(frame), _FLOAT.itemsize)
    if rest or entries > most:
        raise WireError(f"{len(frame)} bytes of values, expected at most {most} float32")
    values: Vector = np.frombuffer(frame, _FLOAT)
    if not np.isfinite(values).all():
        raise WireError("a value is not finite")
    return values
