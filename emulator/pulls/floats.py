"""Parameters as they travel down: as they are, or in half precision."""

from typing import Literal, TypeAlias

import numpy as np

from ..errors import WireError
from ..vectors import Buffer, Vector

Values: TypeAlias = Literal["f32", "f16"]

_TYPES: dict[Values, np.dtype[np.floating]] = {"f32": np.dtype("<f4"), "f16": np.dtype("<f2")}
_LARGEST = np.float32(65_504)


def check(values: Values) -> None:
    if values not in _TYPES:
        raise ValueError(f"values {values!r} is not {' or '.join(_TYPES)}")


def width(values: Values) -> int:
    """Bytes of each parameter."""
    return _TYPES[values].itemsize


def encode(theta: Vector, values: Values) -> bytes:
    """In half precision to the nearest, and what is too large as the largest there is."""
    if values == "f16":
        theta = theta.clip(-_LARGEST, _LARGEST)
    return theta.astype(_TYPES[values], copy=False).tobytes()


def decode(frame: Buffer, values: Values, entries: int) -> Vector:
    """`entries` parameters as float32; a WireError if the frame holds another number of them."""
    expected = entries * width(values)
    if len(frame) != expected:
        raise WireError(f"{len(frame)} bytes of parameters, expected {expected}")
    return np.frombuffer(frame, _TYPES[values]).astype(np.float32)


def rounded(theta: Vector, values: Values) -> Vector:
    """As whoever reads what `coded` wrote will hold it; read-only."""
    read_back = decode(encode(theta, values), values, theta.size)
    read_back.flags.writeable = False
    return read_back
