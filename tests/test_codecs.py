"""Laws that every codec keeps, what top-k selects, and frames that lie."""

import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated
from unittest.mock import Mock, patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter

from emulator import codecs
from emulator.codecs import (
    Codec,
    Dense,
    ErrorFeedback,
    Gradient,
    Place,
    TopK,
    Vector,
    encoder,
    selection,
)
from emulator.codecs.indices import CODINGS
from emulator.codecs.selection import largest
from emulator.codecs.told import read
from emulator.errors import WireError
from emulator.layout import Layout, Variable
from emulator.units import Fraction


def layout(*sizes: int) -> Layout:
    variables = [Variable(f"v{i}", (size,), "dense", i) for i, size in enumerate(sizes)]
    return Layout(tuple(variables))


def spread(gradient: Gradient, size: int) -> Vector:
    """The gradient with its zeros."""
    if gradient.indices is None:
        return gradient.values
    whole = np.zeros(size, np.float32)
    whole[gradient.indices] = gradient.values
    return whole


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


# -- laws ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec, kept", TABLE)
@given(case=gradients())
@settings(max_examples=40, deadline=None)
def test_frames_say_what_the_paper_says(
    codec: Codec, kept: Callable[[Vector, Layout], Vector], case: tuple[Vector, Layout]
) -> None:
    gradient, shape = case
    frames = codec.encode(gradient, shape)
    said = codec.decode(frames, shape)
    assert np.array_equal(spread(said, shape.size), kept(gradient, shape))
    assert said.values.dtype == np.float32
    assert said.indices is None or said.indices.dtype == np.uint32
    assert sum(codec.count(frames)) == sum(map(len, frames))
    assert codec.encode(gradient, shape) == frames
    assert_the_same(read(frames, codec, shape), said)


def assert_the_same(one: Gradient, other: Gradient) -> None:
    assert one.values.dtype == other.values.dtype
    assert one.values.tobytes() == other.values.tobytes()
    assert (one.indices is None) == (other.indices is None)
    if one.indices is not None and other.indices is not None:
        assert one.indices.dtype == other.indices.dtype
        assert one.indices.tobytes() == other.indices.tobytes()


def test_what_is_written_as_it_is_need_not_be_decoded() -> None:
    codec, never = TopK(Fraction(0.1)), Mock(side_effect=AssertionError)
    frames = codec.encode(NORMAL[:100], layout(100))
    with patch.object(TopK, "decode", never):
        assert read(frames, codec, layout(100)).values.size == 10


@pytest.mark.parametrize("codec", CODECS)
@given(case=gradients(), data=st.data())
@settings(max_examples=40, deadline=None)
def test_what_is_accepted_has_one_spelling(
    codec: Codec, case: tuple[Vector, Layout], data: st.DataObject
) -> None:
    gradient, shape = case
    frames = [bytearray(frame) for frame in codec.encode(gradient, shape)]
    for _ in range(data.draw(st.integers(1, 4))):
        frame = data.draw(st.sampled_from(frames))
        at = data.draw(st.integers(0, len(frame)))
        frame[at : at + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=5))
    sent = [bytes(frame) for frame in frames]
    try:
        said = codec.decode(sent, shape)
    except WireError:
        return
    whole = spread(said, shape.size)
    assert np.isfinite(whole).all()
    assert list(codec.encode(whole, shape)) == sent


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("others", [0.0, 1.0, 3e38])
def test_a_gradient_that_diverged_is_refused_at_the_source(
    codec: Codec, wrong: float, others: float
) -> None:
    gradient = np.full(20_050, others, np.float32)
    gradient[9_950] = wrong
    with pytest.raises(ValueError, match=r"gradient of v1 holds -?(nan|inf): training diverged"):
        codec.encode(gradient, layout(50, 20_000))


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    "gradient", [np.zeros(9, np.float32), np.zeros((2, 5), np.float32), np.zeros(10)]
)
def test_a_gradient_of_another_model_is_refused(codec: Codec, gradient: Vector) -> None:
    with pytest.raises(ValueError, match=r"float32 of shape \(10,\)"):
        codec.encode(gradient, layout(4, 6))


@pytest.mark.parametrize("codec", CODECS)
def test_frames_outlive_the_gradient(codec: Codec) -> None:
    gradient = np.arange(100, dtype=np.float32)
    frames = codec.encode(gradient, layout(100))
    before = [bytes(frame) for frame in frames]
    gradient[:] = 0
    assert [bytes(frame) for frame in frames] == before


@pytest.mark.parametrize("codec", CODECS)
def test_decodes_what_a_socket_hands_over(codec: Codec) -> None:
    gradient = np.arange(1, 101, dtype=np.float32)
    frames = codec.encode(gradient, layout(100))
    views = [memoryview(bytes(frame)) for frame in frames]
    assert spread(codec.decode(views, layout(100)), 100)[99] == 100
    assert codec.count(views) == codec.count(frames)


@pytest.mark.parametrize("codec", CODECS)
def test_travels_as_plain_data(codec: Codec) -> None:
    description = codecs.plain(codec)
    assert all(type(value) in (str, float) for value in description.values())
    assert codecs.make(description) == codec
    assert type(getattr(codecs.make(description), "keep", None)) is type(
        getattr(codec, "keep", None)
    )


def test_a_scenario_reads_the_same_classes() -> None:
    schema: TypeAdapter[codecs.AnyCodec] = TypeAdapter(
        Annotated[codecs.AnyCodec, Field(discriminator="kind")]
    )
    assert schema.validate_python({"kind": "topk", "keep": "1%"}) == TopK(Fraction(0.01))
    assert schema.validate_python({"kind": "dense"}) == Dense()


@pytest.mark.parametrize(
    "description",
    [
        {"kind": "tpok", "keep": 0.01},
        {"keep": 0.01},
        {"kind": "topk", "keep": 0.0},
        {"kind": "topk", "keep": 1.5},
        {"kind": "topk", "keep": float("nan")},
        {"kind": "topk", "keep": 0.01, "indices": "u33"},
        {"kind": "topk", "keep": 0.01, "values": "f64"},
        {"kind": "topk", "keep": 0.01, "scope": "layer"},
    ],
)
def test_an_impossible_codec_is_refused(description: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        codecs.make(description)


def place(shape: Layout) -> Place:
    return Place(shape, np.random.default_rng(0))


def fed_back(codec: Codec, shape: Layout) -> ErrorFeedback:
    return ErrorFeedback(codec.start(place(shape)), codec, shape)


# -- error feedback --------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", CODECS)
@given(seed=st.integers(0, 2**32 - 1), steps=st.integers(1, 12))
@settings(max_examples=20, deadline=None)
def test_error_feedback_loses_nothing(codec: Codec, seed: int, steps: int) -> None:
    draws = np.random.default_rng(seed)
    shape = layout(90, 7)
    feedback = fed_back(codec, shape)
    came, sent = np.zeros(97), np.zeros(97)
    for _ in range(steps):
        gradient = draws.standard_normal(97).astype(np.float32)
        owed = feedback.residual + gradient
        update = spread(codec.decode(feedback.encode(gradient), shape), 97)
        assert np.array_equal(update + feedback.residual, owed)
        came += gradient
        sent += update
    rounding = 4e-7 * steps * max(1, np.abs(came).max())
    assert np.allclose(came, sent + feedback.residual, rtol=0, atol=rounding)


def test_error_feedback_sends_in_the_end_what_top_k_alone_never_would() -> None:
    shape, gradient = layout(3), np.array([5, -3, 2], np.float32)
    one = TopK(Fraction.parse("34%"))
    held = encoder(one, place(shape), error_feedback=True)
    lost = encoder(one, place(shape), error_feedback=False)
    updates = [spread(one.decode(held.encode(gradient), shape), 3).tolist() for _ in range(3)]
    assert updates == [[5, 0, 0], [0, -6, 0], [10, 0, 0]]
    updates = [spread(one.decode(lost.encode(gradient), shape), 3).tolist() for _ in range(3)]
    assert updates == [[5, 0, 0]] * 3


@pytest.mark.parametrize("gradient", [[np.nan, 1], [3e38, 1]])
def test_a_refused_gradient_leaves_no_trace_in_the_residual(gradient: list[float]) -> None:
    feedback = fed_back(TopK(Fraction.parse("50%")), layout(2))
    feedback.residual = np.array([3e38, 1], np.float32)
    with pytest.raises(ValueError, match="diverged"):
        feedback.encode(np.array(gradient, np.float32))
    assert feedback.residual.tolist() == np.array([3e38, 1], np.float32).tolist()


# -- top-k -----------------------------------------------------------------------------------------


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
    assert codec.most(layout(size)) == [entries]
    frames = codec.encode(np.ones(size, np.float32), layout(size))
    assert codec.decode(frames, layout(size)).indices.tolist() == list(range(entries))


def test_by_hand() -> None:
    gradient = np.array([0, -2, 2, 1, 0, -0.0, 0, -3, 0.5, -3], np.float32)
    frames = TopK(Fraction.parse("50%")).encode(gradient, layout(4, 3, 3))
    # two of four, the first entry of each tie in front; none of three zeros; one of three
    assert frames[0] == bytes([1, 0, 4])
    assert frames[1] == struct.pack("<3f", -2, 2, -3)


@given(case=gradients(), most=st.integers(1, 40))
@settings(max_examples=150, deadline=None)
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


# -- indices ---------------------------------------------------------------------------------------


def test_gaps_are_golden() -> None:
    # skipped before each: none, none, 198 = 1·128 + 70, 2**14
    frame = CODINGS["gap"].encode(np.array([0, 1, 200, 201 + 2**14], np.uint32), layout(20_000))
    assert frame == bytes([0, 0, 0x80 | 70, 1, 0x80, 0x80, 1])


def test_one_per_cent_costs_little_more_than_ten_bits_an_index() -> None:
    draws = np.random.default_rng(3)
    gradient = draws.standard_normal(421_642).astype(np.float32)
    codec = TopK(Fraction.parse("1%"))
    count = codec.count(codec.encode(gradient, layout(20_234, 401_408)))
    assert count.values == 4 * 4216
    assert count.indices * 8 / 4216 < 10.3


TWO = struct.pack("<2f", 1, -1)


@pytest.mark.parametrize(
    "kind, frames, reason",
    [
        ("gap", [b"\x00\x00"], "1 frames, expected 2"),
        ("gap", [b"", b"", b""], "3 frames, expected 2"),
        ("gap", [b"\x00\x00", TWO[:7]], "7 bytes of float32"),
        ("gap", [b"\x00" * 11, bytes(44)], "11 values, expected at most 10"),
        ("gap", [b"\x62\x00", struct.pack("<2f", 1, np.nan)], "not finite"),
        ("gap", [b"\x62\x00", struct.pack("<2f", np.inf, 1)], "not finite"),
        ("gap", [b"\x62\x00", struct.pack("<2f", -0.0, 1)], "zero"),
        ("gap", [b"\x00", TWO], "1 bytes of index gaps for 2"),
        ("gap", [b"\x00" * 11, TWO], "11 bytes of index gaps for 2"),
        ("gap", [b"\x00\x00\x00", TWO], "3 whole index gaps for 2"),
        ("gap", [b"\x00\x80", TWO], "1 whole index gaps for 2"),
        ("gap", [b"\x00\x00\x80", TWO], "2 whole index gaps for 2"),
        ("gap", [b"\x00\x81\x80\x80\x80\x80\x01", TWO], "an index gap of 6 bytes"),
        ("gap", [b"\x00\x81\x00", TWO], "longer than it need be"),
        ("gap", [b"\x00\xff\xff\xff\xff\x7f", TWO], "a gap of 34359738367 among 1000"),
        ("gap", [b"\xe7\x07\x00", TWO], "index 1000 of 1000"),
        ("u32", [struct.pack("<I", 1), TWO], "4 bytes of indices for 2 values"),
        ("u32", [struct.pack("<2I", 1, 1), TWO], "do not ascend"),
        ("u32", [struct.pack("<2I", 2, 1), TWO], "do not ascend"),
        ("u32", [struct.pack("<2I", 2, 1000), TWO], "index 1000 of 1000"),
        # ten in all may come, but one of the first hundred, and nine of the others
        ("gap", [b"\x62\x00", TWO], None),
        ("gap", [b"\x61\x00", TWO], "2 entries of v0, expected at most 1"),
    ],
)
def test_top_k_frames_that_lie(kind: str, frames: list[bytes], reason: str | None) -> None:
    codec = TopK(Fraction.parse("1%"), indices=kind)  # type: ignore[arg-type]
    if reason is None:
        assert codec.decode(frames, layout(99, 901)).values.size == 2
        return
    with pytest.raises(WireError, match=reason):
        codec.decode(frames, layout(99, 901))


@pytest.mark.parametrize(
    "frames, reason",
    [
        ([], "0 frames"),
        ([bytes(12), bytes(12)], "2 frames"),
        ([bytes(8)], "2 values for 3 parameters"),
        ([bytes(16)], "at most 3"),
        ([bytes(11)], "11 bytes"),
        ([struct.pack("<3f", 0, 0, np.nan)], "not finite"),
    ],
)
def test_dense_frames_that_lie(frames: list[bytes], reason: str) -> None:
    with pytest.raises(WireError, match=reason):
        Dense().decode(frames, layout(3))
