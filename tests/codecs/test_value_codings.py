"""How values travel: rounded as said, counted to the byte, refused when damaged."""

import itertools
import math
import struct

import numpy as np
import pytest
from hypothesis import strategies as st

from emulator.codecs import ByteCount
from emulator.codecs.indices import CODINGS
from emulator.codecs.sparse import Sparse
from emulator.codecs.values import CODINGS as VALUES
from emulator.errors import WireError
from emulator.layout import Layout
from emulator.vectors import Indices, Vector
from tests.codecs.rounded_values import EXACT
from tests.fakes.codecs.index_sets import layout, sets, u32
from tests.fakes.tried_examples import tried

WORTH = st.one_of(
    st.sampled_from([1.0, -1.0, 2.0, 1e-45, -1e-45, 6e-8, 65_519.0, 65_520.0, 1e9, 3.4028235e38]),
    st.floats(width=32, allow_nan=False, allow_infinity=False),
).map(lambda value: np.float32(value or 1))


@st.composite
def entries(draw: st.DrawFn) -> tuple[Indices, Vector, Layout]:
    indices, shape = draw(sets())
    few = draw(st.lists(WORTH, min_size=1, max_size=7))
    return u32(indices), np.resize(np.array(few, np.float32), len(indices)), shape


def groups(indices: Indices, shape: Layout) -> list[slice]:
    ends = [0, *indices.searchsorted([stop for _, stop in shape.bounds]).tolist()]
    return [slice(a, b) for a, b in itertools.pairwise(ends) if a < b]


@pytest.mark.parametrize("name", EXACT)
@tried(quick=15, slow=60, case=entries())
def test_values_are_rounded_as_said(name: str, case: tuple[Indices, Vector, Layout]) -> None:
    indices, values, shape = case
    sparse = Sparse("u32", name)  # type: ignore[arg-type]
    said = sparse.decode(sparse.encode(indices, values, shape), shape, shape.size)
    expected = EXACT[name](values, groups(indices, shape))
    assert said.indices is not None
    assert said.indices.tolist() == indices[expected != 0].tolist()
    assert said.values.tolist() == expected[expected != 0].tolist()


@tried(quick=15, slow=60, case=entries())
def test_bytes_are_within_half_a_step(case: tuple[Indices, Vector, Layout]) -> None:
    indices, values, shape = case
    sparse = Sparse("u32", "int8")
    said = sparse.decode(sparse.encode(indices, values, shape), shape, shape.size)
    whole, sent = np.zeros(shape.size), np.zeros(shape.size)
    whole[indices], sent[said.indices] = values, said.values
    for place in groups(indices, shape):
        largest = np.abs(values[place]).max()
        if largest > 1e-36:  # below, not all of float32's digits are left for a scale
            off = np.abs(whole - sent)[indices[place]].max()
            assert off <= largest / 254 * 1.00001


@pytest.mark.mostly_slow(quick=16)
@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("worth", VALUES)
@tried(quick=3, slow=12, case=entries(), data=st.data())
def test_what_travels(
    coding: str, worth: str, case: tuple[Indices, Vector, Layout], data: st.DataObject
) -> None:
    """Counted to the byte; finite, not zero, bounded; with errors in it refused, or another."""
    indices, values, shape = case
    sparse = Sparse(coding, worth)  # type: ignore[arg-type]
    frames = sparse.encode(indices, values, shape)
    assert sum(sparse.count(frames)) == sum(map(len, frames))
    said = sparse.decode(frames, shape, indices.size)
    assert said.indices is not None and np.isin(said.indices, indices).all()
    assert np.isfinite(said.values).all() and said.values.all()
    with pytest.raises(WireError):
        sparse.decode(frames, shape, max(0, said.values.size) - 1)
    with pytest.raises(WireError, match="frames"):
        sparse.decode(frames[1:], shape, shape.size)
    damaged = [bytearray(frame) for frame in frames]
    for _ in range(data.draw(st.integers(1, 3))):
        frame = data.draw(st.sampled_from(damaged))
        at = data.draw(st.integers(0, len(frame)))
        frame[at : at + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=5))
    try:
        other = sparse.decode([bytes(frame) for frame in damaged], shape, shape.size)
    except WireError:
        return
    assert np.isfinite(other.values).all() and other.values.all()


def test_what_is_a_header() -> None:
    indices, values = u32([1, 2, 30]), np.array([1, -1, 5], np.float32)
    shape = layout((20,), (20,))
    assert Sparse("gap", "f32").count(Sparse("gap", "f32").encode(indices, values, shape)) == (
        ByteCount(values=12, indices=3, headers=0)
    )
    frames = Sparse("auto", "ternary").encode(indices, values, shape)
    assert Sparse("auto", "ternary").count(frames).headers == 1 + 2 * 4
    assert Sparse("gap", "int8").count(Sparse("gap", "int8").encode(indices, values, shape)) == (
        ByteCount(values=3, indices=3, headers=8)
    )


@pytest.mark.parametrize(
    "worth, frames, reason",
    [
        ("f16", [b"\0\0\0"], "3 bytes of float16"),
        ("f16", [struct.pack("<2e", 1, math.inf)], "not finite"),
        ("f16", [struct.pack("<2e", 1, -0.0)], "zero"),
        ("bf16", [b"\0\0\0"], "3 bytes of bfloat16"),
        ("bf16", [b"\x80\x3f\x80\x7f"], "not finite"),
        ("bf16", [b"\x80\x3f\0\x80"], "zero"),
        ("int8", [b"\x7f\0", struct.pack("<2f", 1, 1)], "zero"),
        ("int8", [b"\x7f\x80", struct.pack("<2f", 1, 1)], "largest code"),
        ("int8", [b"\x7f\x7e", struct.pack("<2f", 1, 1)], "largest code"),
        ("int8", [b"\x7f\x7f", struct.pack("<2f", 1, 3e38)], "not finite"),
        ("int8", [b"\x7f\x7f", struct.pack("<2f", 1, 0)], "positive"),
        ("int8", [b"\x7f\x7f", struct.pack("<f", 1)], "4 bytes of scales for 2"),
        ("ternary", [b"", struct.pack("<2f", 1, 1)], "no end"),
        ("ternary", [b"\x01\0", struct.pack("<2f", 1, 1)], "no end"),
        ("ternary", [b"\x04", struct.pack("<2f", 1, -1)], "positive"),
        ("ternary", [b"\x04", struct.pack("<2f", 1, math.nan)], "positive"),
        ("ternary", [b"\x04", b""], "0 bytes of scales for 2"),
    ],
)
def test_values_that_lie(worth: str, frames: list[bytes], reason: str) -> None:
    sparse = Sparse("gap", worth)  # type: ignore[arg-type]
    with pytest.raises(WireError, match=reason):
        sparse.decode([b"\0\x14", *frames], layout((20,), (20,)), [1, 1])
