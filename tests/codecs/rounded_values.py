"""Each exact value coding, beside its rounding in plain Python."""

import math
import struct

import numpy as np

from emulator.vectors import Vector


def f32(values: Vector, places: list[slice]) -> Vector:
    return values


def f16(values: Vector, places: list[slice]) -> Vector:
    return np.clip(values, -65_504, 65_504).astype(np.float16).astype(np.float32)


def bf16(values: Vector, places: list[slice]) -> Vector:
    """To eight bits of fraction, by Python's rounding of halves to even."""
    largest = struct.unpack(">f", b"\x7f\x7f\0\0")[0]
    rounded = []
    for value in values.tolist():
        exponent = max(math.frexp(value)[1], -125) - 8
        near = math.ldexp(round(math.ldexp(value, -exponent)), exponent)
        rounded.append(max(-largest, min(largest, near)))
    return np.array(rounded, np.float32)


def ternary(values: Vector, places: list[slice]) -> Vector:
    means = [np.abs(values[place]).mean(dtype=np.float64) for place in places]
    each = [np.full(p.stop - p.start, mean) for p, mean in zip(places, means, strict=True)]
    return (np.sign(values) * np.concatenate([[], *each])).astype(np.float32)


EXACT = {"f32": f32, "f16": f16, "bf16": bf16, "ternary": ternary}
