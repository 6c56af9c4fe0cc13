"""Top-k: the number of entries, the choice of entries, and the few entries that are read twice."""

import struct
from collections.abc import Callable
from unittest.mock import Mock, patch

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray

from emulator.codecs import TopK, selection
from emulator.codecs.selection import largest
from emulator.layout import Layout
from emulator.units import Fraction
from emulator.vectors import Vector
from tests.fakes.codecs.stateless_codecs import gradients, layout, naive
from tests.fakes.tried_examples import tried


@pytest.mark.parametrize(
    "keep, size, entries",
    [
        ("7%", 100, 7),  # 0.07 · 100 is more than 7 in binary
        ("29%", 100, 29),  # and 0.29 · 100 less than 29
        ("1%", 32, 1),
        ("1%", 401_408, 4014),
        ("0.1%", 18_432, 18),
        ("100%", 10, 10),
        ("33.3%", 1000, 333),
    ],
)
def test_how_many_entries(keep: str, size: int, entries: int) -> None:
    codec = TopK(Fraction.parse(keep))
    assert codec.entry_limits(layout(size)) == [entries]
    frames = codec.encode(np.ones(size, np.float32), layout(size))
    assert codec.decode(frames, layout(size)).indices.tolist() == list(range(entries))


def test_by_hand() -> None:
    gradient = np.array([0, -2, 2, 1, 0, -0.0, 0, -3, 0.5, -3], np.float32)
    frames = TopK(Fraction.parse("50%")).encode(gradient, layout(4, 3, 3))
    # two of four, the first entry of each tie in front; none of three zeros; one of three
    assert frames[0] == bytes([1, 0, 4])
    assert frames[1] == struct.pack("<3f", -2, 2, -3)


@tried(quick=30, slow=150, case=gradients(), most=st.integers(1, 40))
def test_the_largest_are_those_of_the_definition(case: tuple[Vector, Layout], most: int) -> None:
    values, _ = case
    assert largest(values, most).tolist() == naive(values, most)


def stride(size: int) -> Vector:
    """One at the entries that the sample looks at, as far as the stride is what it is."""
    return np.where(np.arange(size) % (min(size // 4096, 1024) | 1) == 0, 1, 0).astype(np.float32)


NORMAL = np.random.default_rng(5).standard_normal(401_408).astype(np.float32)
LARGE: dict[str, Callable[[Vector], Vector]] = {
    "normal": lambda normal: normal,
    "ties": np.round,
    "equal": np.ones_like,
    "zeros": np.zeros_like,
    "denormal": lambda normal: normal * np.float32(1e-40),
    "huge": lambda normal: normal * np.float32(5e37),
    "few": lambda normal: np.where(np.abs(normal) > 3.3, normal, np.float32(0)),
    "sorted": np.sort,
    "sampled": lambda normal: normal + np.float32(1e9) * stride(normal.size),
    "missed": lambda normal: normal * (1 - stride(normal.size)),
}


@pytest.mark.parametrize("size", [16_383, 16_384, 150_000, 401_408])
@pytest.mark.parametrize("name", LARGE)
def test_a_large_vector_is_searched_as_exactly(name: str, size: int) -> None:
    values = LARGE[name](NORMAL[:size])
    order = np.argsort(-np.abs(values), kind="stable")
    for most in (1, size // 1000, size // 100, size // 2, size):
        expected = np.sort(order[:most][values[order[:most]] != 0])
        assert np.array_equal(largest(values, most), expected)


def test_the_exact_choice_is_made_among_few() -> None:
    """One look at the sample is enough, and leaves no more than twice as many as are wanted."""
    seen: list[int] = []

    def among(candidates: NDArray[np.intp], values: Vector, most: int) -> NDArray[np.intp]:
        seen.append(candidates.size)
        return chosen(candidates, values, most)

    chosen = selection._among
    passes = Mock(side_effect=selection._candidates)
    with patch.object(selection, "_among", among), patch.object(selection, "_candidates", passes):
        largest(NORMAL, 4014)
    assert passes.call_count == 1
    assert 4014 <= seen[0] <= 2 * 4014
