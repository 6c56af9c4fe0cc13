"""Codecs without a memory, gradients for them, and what they keep by the paper's definition."""

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from emulator.codecs import Dense, TopK
from emulator.layout import Layout, Variable
from emulator.units import Fraction
from emulator.vectors import Vector


def layout(*sizes: int) -> Layout:
    variables = [Variable(f"v{i}", (size,), "dense", i) for i, size in enumerate(sizes)]
    return Layout(tuple(variables))


def naive(values: Vector, most: int) -> list[int]:
    """The definition: largest magnitude first, the lower index among equals, no zeros."""
    ranked = sorted(range(values.size), key=lambda i: (-abs(float(values[i])), i))
    return sorted(i for i in ranked[:most] if values[i] != 0)


def top(keep: str) -> Callable[[Vector, Layout], Vector]:
    def kept(gradient: Vector, layout: Layout) -> Vector:
        whole = np.zeros_like(gradient)
        for variable, place in layout:
            share = Decimal(keep.rstrip("%")) / 100
            chosen = naive(gradient[place], max(1, int(share * variable.size)))
            whole[place][chosen] = gradient[place][chosen]
        return whole

    return kept


def top_of_all(keep: str) -> Callable[[Vector, Layout], Vector]:
    return lambda gradient, shape: top(keep)(gradient, layout(shape.size))


TABLE = [
    # a codec, and what its frames say of a gradient
    pytest.param(Dense(), lambda gradient, layout: gradient, id="dense"),
    pytest.param(TopK(Fraction.parse("1%")), top("1%"), id="topk"),
    pytest.param(TopK(Fraction.parse("7%"), indices="u32"), top("7%"), id="topk-u32"),
    pytest.param(TopK(Fraction.parse("35%")), top("35%"), id="topk-third"),
    pytest.param(TopK(Fraction.parse("100%")), top("100%"), id="topk-whole"),
    pytest.param(TopK(Fraction.parse("9%"), scope="global"), top_of_all("9%"), id="topk-global"),
]
CODECS = [pytest.param(row.values[0], id=row.id) for row in TABLE]

# few different magnitudes, so that ties are common; the edges of float32; and anything finite
ENTRIES = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0, 1e-45, -1e-45, 3.4e38, -3.4e38]),
    st.floats(width=32, allow_nan=False, allow_infinity=False),
)


def vectors(size: int) -> st.SearchStrategy[Vector]:
    return arrays(np.float32, size, elements=ENTRIES.map(np.float32))


@st.composite
def gradients(draw: st.DrawFn) -> tuple[Vector, Layout]:
    shape = layout(*draw(st.lists(st.integers(1, 120), min_size=1, max_size=4)))
    return draw(vectors(shape.size)), shape
