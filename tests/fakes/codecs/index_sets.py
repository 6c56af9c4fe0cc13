"""Drawn sets of indices into models of a few small variables."""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from emulator.layout import Layout, Variable
from emulator.vectors import Indices


def layout(*shapes: tuple[int, ...]) -> Layout:
    variables = [Variable(f"v{i}", shape, "dense", i) for i, shape in enumerate(shapes)]
    return Layout(tuple(variables))


SHAPES = st.lists(
    st.lists(st.integers(1, 9), min_size=1, max_size=3).map(tuple), min_size=1, max_size=3
)


@st.composite
def sets(draw: st.DrawFn) -> tuple[list[int], Layout]:
    """Sets of indices: empty, small, contiguous, evenly spaced, almost full, full."""
    shape = layout(*draw(SHAPES))
    every = range(shape.size)
    start, stop, step = (draw(st.integers(0, shape.size)) for _ in range(3))
    regular = {*every[start : stop : step or 1]}
    few = draw(st.sets(st.sampled_from(every), max_size=12))
    return sorted(draw(st.sampled_from([set(), few, regular, regular ^ few, {*every}]))), shape


def u32(indices: Sequence[int]) -> Indices:
    return np.array(indices, np.uint32)
