"""Laws of every way to write indices and values, and of the two together."""

import math
import struct

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from emulator.codecs import Vector
from emulator.codecs.indices import CODINGS, Coding
from emulator.codecs.sparse import Sparse
from emulator.codecs.values import CODINGS as VALUES
from emulator.errors import WireError
from emulator.layout import Layout, Variable

INDICES = [pytest.param(coding, id=name) for name, coding in CODINGS.items()]


def layout(*shapes: tuple[int, ...]) -> Layout:
    variables = [Variable(f"v{i}", shape, "dense", i) for i, shape in enumerate(shapes)]
    return Layout(tuple(variables))


SHAPES = st.lists(
    st.lists(st.integers(1, 12), min_size=1, max_size=4).map(tuple), min_size=1, max_size=4
)


@st.composite
def sets(draw: st.DrawFn) -> tuple[list[int], Layout]:
    """Empty, one, neighbours, rows and columns of a matrix, all but a few, all; and any other."""
    shape = layout(*draw(SHAPES))
    every = range(shape.size)
    start, stop, step = (draw(st.integers(0, shape.size)) for _ in range(3))
    regular = list(every[start : stop : step or 1])
    others = draw(st.sets(st.sampled_from(every), max_size=12))
    chosen = draw(st.sampled_from([set(), others, {*regular}, {*regular} ^ others, {*every}]))
    return sorted(chosen), shape


def u32(indices: list[int]) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    return np.array(indices, np.uint32)


# -- indices -----------------------------------------------------------------------------------


@pytest.mark.parametrize("coding", INDICES)
@given(case=sets())
@example(case=([], layout((1,))))
@example(case=([0], layout((1,))))
@example(case=([0, 2**21], layout((2**21,), (1,))))
@example(case=([127, 256, 16_641, 33_026], layout((33_027,))))
@example(case=([65_535, 65_536, 199_999], layout((1000, 200))))
@settings(max_examples=100, deadline=None)
def test_indices_come_back(coding: Coding, case: tuple[list[int], Layout]) -> None:
    indices, shape = case
    frame = coding.encode(u32(indices), shape)
    decoded = coding.decode(memoryview(frame), len(indices), shape)
    assert decoded.dtype == np.uint32 and decoded.tolist() == indices
    assert 0 <= coding.header(frame) <= len(frame)
