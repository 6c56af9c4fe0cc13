"""Precision of parameters on their way to a worker: float32 or half precision."""

from typing import Literal, TypeAlias

import numpy as np

from ..errors import WireError
from ..vectors import LARGEST_F16, Buffer, Vector

Values: TypeAlias = Literal["f32", "f16"]
"""Precision: `f32` (4 bytes) or `f16` (IEEE 754 half precision, 2 bytes)."""

_TYPES: dict[Values, np.dtype[np.floating]] = {"f32": np.dtype("<f4"), "f16": np.dtype("<f2")}


def check(values: Values) -> None:
    """Raise ValueError unless `values` names a precision."""
    if values not in _TYPES:
        raise ValueError(f"values {values!r} is not {' or '.join(_TYPES)}")


def width(values: Values) -> int:
    """Return the bytes of a parameter."""
    return _TYPES[values].itemsize


def bytes_of(part: slice, values: Values) -> slice:
    """Return the slice of the encoded bytes that the parameters in `part` take."""
    return slice(part.start * width(values), part.stop * width(values))


def encode(theta: Vector, values: Values) -> bytes:
    """Return `theta` as bytes in the precision `values`.

    Half precision rounds to the nearest and clips to ±65,504, its largest number.
    """
    if values == "f16":
        theta = theta.clip(-LARGEST_F16, LARGEST_F16)
    return theta.astype(_TYPES[values], copy=False).tobytes()


def decode(frame: Buffer, values: Values, entries: int) -> Vector:
    """Return `entries` parameters of `frame` as float32. Raises WireError for another length."""
    expected = entries * width(values)
    if len(frame) != expected:
        raise WireError(f"{len(frame)} bytes of parameters, expected {expected}")
    return np.frombuffer(frame, _TYPES[values]).astype(np.float32)


def rounded(theta: Vector, values: Values) -> Vector:
    """Return the parameters as `decode` reads them from the bytes of `encode`; read-only."""
    read_back = decode(encode(theta, values), values, theta.size)
    read_back.flags.writeable = False
    return read_back
