"""Checks of gradients before they are encoded and of frames before they are decoded."""

import numpy as np

from ..errors import WireError
from ..layout import Layout
from ..vectors import Buffer, Frames, NotFinite, Vector

_FLOAT = np.dtype("<f4")


def check_shape(gradient: Vector, layout: Layout) -> None:
    """Raise ValueError unless `gradient` is float32 with one entry for each parameter."""
    if gradient.dtype != np.float32 or gradient.shape != (layout.size,):
        given = f"{gradient.dtype} of shape {gradient.shape}"
        raise ValueError(f"a gradient is float32 of shape ({layout.size},), not {given}")


def check_finite(gradient: Vector, layout: Layout) -> None:
    """Raise ValueError unless `gradient` fits `layout`, NotFinite unless every entry is finite."""
    check_shape(gradient, layout)
    if not np.isfinite(gradient).all():
        raise not_finite_error(gradient, layout)


def not_finite_error(gradient: Vector, layout: Layout) -> NotFinite:
    """Return the error for a `gradient` that is not finite, with the name of the first variable."""
    for variable, part in layout:
        bad = gradient[part][~np.isfinite(gradient[part])]
        if bad.size:
            complaint = f"the gradient of {variable.name} holds {bad[0]}"
            return NotFinite(f"{complaint}: training diverged; a smaller learning rate may help")
    raise AssertionError("every entry is finite")


def check_count(frames: Frames, expected: int) -> Frames:
    """Return `frames`. Raises WireError unless their number is `expected`."""
    if len(frames) != expected:
        raise WireError(f"an encoded gradient of {len(frames)} frames, expected {expected}")
    return frames


def scales(frame: Buffer, count: int) -> Vector:
    """Return `count` finite float32 from zero up, as a view of `frame`. Raises WireError."""
    if len(frame) != count * _FLOAT.itemsize:
        raise WireError(f"{len(frame)} bytes of scales, expected {count} float32")
    values: Vector = np.frombuffer(frame, _FLOAT)
    if not (np.isfinite(values) & (values >= 0)).all():
        raise WireError("a scale is not a number from zero up")
    return values


def floats(frame: Buffer, limit: int) -> Vector:
    """Return up to `limit` finite float32 as a view of `frame`. Raises WireError."""
    entries, remainder = divmod(len(frame), _FLOAT.itemsize)
    if remainder or entries > limit:
        raise WireError(f"{len(frame)} bytes of values, expected at most {limit} float32")
    values: Vector = np.frombuffer(frame, _FLOAT)
    if not np.isfinite(values).all():
        raise WireError("a value is not finite")
    return values
