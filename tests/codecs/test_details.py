"""What is particular to one codec: warm-up, clipping, seeds, columns, digits, and bad fields."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.codecs import (
    DGC,
    QSGD,
    AnyCodec,
    Dryden,
    EncoderContext,
    OneBit,
    RandomK,
    Strom,
    TernGrad,
    Threshold,
    make,
    packing,
)
from emulator.errors import WireError
from emulator.units import Fraction
from emulator.vectors import NotFinite
from tests.fakes.codecs.codec_table import layout, place, spread

F = np.float32
THOUSAND = layout(("dense", (1000,)))


def entries(codec: AnyCodec, place: EncoderContext, count: int) -> list[int]:
    held, draws = codec.start(place), np.random.default_rng(3)
    return [
        codec.decode(held.encode(draws.standard_normal(1000).astype(F)), THOUSAND).values.size
        for _ in range(count)
    ]


def test_dgc_warms_up_as_its_paper_says() -> None:
    where = EncoderContext(THOUSAND, np.random.default_rng(0), workers=1, epoch=2)
    assert entries(DGC(), where, 11) == [250, 250, 62, 62, 15, 15, 3, 3, 1, 1, 1]
    assert entries(DGC(Fraction(0.05), warm_up=2), where, 5) == [250, 250, 62, 62, 50]
    assert entries(DGC(warm_up=0), where, 1) == [1]


def test_dgc_by_hand() -> None:
    codec, shape = DGC(Fraction(0.5), momentum=0.5, warm_up=0), layout(("dense", (2,)))
    held: Any = codec.start(place(shape))

    def told(*gradient: float) -> list[float]:
        frames = held.encode(np.array(gradient, F))
        said: list[float] = spread(codec.decode(frames, shape), 2).tolist()
        return said

    assert told(4, 1) == [4, 0]  # u = v = 4, 1; what is sent is forgotten in both
    assert (held.velocity.tolist(), held.residual.tolist()) == ([0, 1], [0, 1])
    assert told(1, 1) == [0, 2.5]  # u = 1, 1.5 and v = 1, 2.5
    assert (held.velocity.tolist(), held.residual.tolist()) == ([1, 0], [1, 0])


def test_dgc_clips_to_its_share_of_the_norm() -> None:
    codec, shape = DGC(Fraction(1), clip=1.0, warm_up=0), layout(("dense", (2,)))
    frames = codec.start(place(shape)).encode(np.array([3, -4], F))  # 4 workers: to a norm of 1/2
    assert spread(codec.decode(frames, shape), 2) == pytest.approx([0.3, -0.4])


def test_dryden_by_hand() -> None:
    codec, shape = Dryden(Fraction(0.5)), layout(("dense", (7,)))
    held: Any = codec.start(place(shape))
    frames = held.encode(np.array([1, 3, -8, 5, 0, 2, -1], F))
    # two of four above zero, one of two below
    assert spread(codec.decode(frames, shape), 7).tolist() == [0, 4, -8, 4, 0, 0, 0]
    assert held.residual.tolist() == [1, -1, 0, 1, 0, 2, -1]


def test_strom_by_hand() -> None:
    codec, shape = Strom(1.0), layout(("dense", (4,)))
    held: Any = codec.start(place(shape))
    result = [
        spread(codec.decode(held.encode(np.array([0.75, 1, -2.5, 0], F)), shape), 4).tolist()
        for _ in range(3)
    ]
    assert result == [[0, 0, -1, 0], [1, 1, -1, 0], [1, 1, -1, 0]]
    assert held.residual.tolist() == [0.25, 1, -4.5, 0]


def test_onebit_has_two_numbers_for_each_column() -> None:
    codec, shape = OneBit(), layout(("dense", (3, 2)), ("bias", (3,)))
    frames = codec.start(place(shape)).encode(np.array([1, -4, 3, -2, -5, 0, 1, 3, -5], F))
    said = spread(codec.decode(frames, shape), 9).tolist()
    assert said == [2, -3, 2, -3, -5, 0, 2, 2, -5]
    assert codec.count(frames) == (2, 0, 2 * 3 * 4)


def test_randomk_needs_no_indices() -> None:
    codec = RandomK(Fraction(0.01))
    frames = codec.start(place(THOUSAND)).encode(np.ones(1000, F))
    assert codec.count(frames) == (10 * 4, 8, 0)
    said = codec.decode(frames, THOUSAND)
    assert said.values.tolist() == [100] * 10
    assert said.indices is not None and (np.diff(said.indices.astype(int)) > 0).all()
    as_is = RandomK(Fraction(0.01), unbiased=False)
    frames = as_is.start(place(THOUSAND)).encode(np.ones(1000, F))
    assert as_is.decode(frames, THOUSAND).values.tolist() == [1] * 10


@pytest.mark.slow
def test_randomk_draws_every_entry_as_often() -> None:
    codec, shape = RandomK(Fraction(0.25), unbiased=False), layout(("dense", (8,)), ("bias", (4,)))
    held = codec.start(place(shape))
    often = np.zeros(12)
    for _ in range(2000):
        often[codec.decode(held.encode(np.zeros(12, F)), shape).indices] += 1
    assert often.sum() == 2000 * 3
    assert abs(often / 2000 - 0.25).max() < 0.05  # five standard errors


def test_randomk_cannot_scale_beyond_float32() -> None:
    with pytest.raises(NotFinite, match="too large"):
        RandomK(Fraction(0.01)).start(place(THOUSAND)).encode(np.full(1000, 1e38, F))


def test_qsgd_has_two_levels_for_each_entry() -> None:
    codec = QSGD(levels=4, bucket=100)
    (gradient,) = np.random.default_rng(1).standard_normal((1, 1000)).astype(F)
    frames = codec.start(place(THOUSAND)).encode(gradient)
    said = codec.decode(frames, THOUSAND).values.reshape(10, 100)
    norms = np.sqrt(np.square(gradient.astype(float)).reshape(10, 100).sum(axis=1, keepdims=True))
    exact = gradient.reshape(10, 100) / norms * 4
    levels = said / norms * 4
    assert np.allclose(levels, np.rint(levels), atol=1e-5)
    assert (abs(levels - exact) < 1 + 1e-5).all() and (levels * exact >= 0).all()
    assert codec.count(frames) == (50 * 8, 0, 10 * 4)  # twenty of nine levels in a word


def test_terngrad_clips_and_draws() -> None:
    codec = TernGrad()
    (gradient,) = np.random.default_rng(1).standard_normal((1, 1000)).astype(F)
    gradient[7], gradient[8] = 1e3, 0
    deviation = gradient.astype(float).std()
    frames = codec.start(place(THOUSAND)).encode(gradient)
    said = codec.decode(frames, THOUSAND).values
    assert set(abs(said).tolist()) == {0, abs(said).max()}
    assert abs(said).max() == pytest.approx(2.5 * deviation, rel=1e-6)
    assert said[7] > 0 == said[8]
    assert (said * gradient >= 0).all()
    assert codec.count(frames) == (25 * 8, 0, 4)  # forty of three levels in a word


def test_terngrad_does_not_clip_what_is_all_alike() -> None:
    codec, shape = TernGrad(), layout(("dense", (3,)), ("bias", (1,)))
    frames = codec.start(place(shape)).encode(np.array([2, 2, 2, -3], F))
    assert codec.decode(frames, shape).values.tolist() == [2, 2, 2, -3]


@given(
    numbers=st.lists(st.integers(0, 254), max_size=200),
    base=st.sampled_from([3, 9, 33, 129, 255]),
)
@settings(max_examples=100, deadline=None)
def test_digits_are_exact(numbers: list[int], base: int) -> None:
    some = np.array([number % base for number in numbers], np.uint8)
    frame = packing.pack_digits(some, base)
    assert len(frame) == 8 * -(-some.size // packing.digits_per_word(base))
    assert np.array_equal(packing.unpack_digits(frame, some.size, base), some)
    for size in (
        some.size + packing.digits_per_word(base),
        some.size - packing.digits_per_word(base),
    ):
        if size >= 0:
            with pytest.raises(WireError):
                packing.unpack_digits(frame, size, base)


@pytest.mark.parametrize(("base", "each"), [(3, 40), (9, 20), (33, 12), (129, 9)])
def test_a_word_is_full(base: int, each: int) -> None:
    assert packing.digits_per_word(base) == each
    frame = packing.pack_digits(np.full(each, base - 1, np.uint8), base)
    assert int.from_bytes(frame, "little") == base**each - 1
    with pytest.raises(WireError, match="more than its numbers"):
        packing.unpack_digits((base**each).to_bytes(8, "little"), each, base)
    with pytest.raises(WireError, match="more than its numbers"):
        packing.unpack_digits(frame, each - 1, base)


@pytest.mark.slow
@given(flags=st.lists(st.booleans(), max_size=40))
def test_signs_are_exact(flags: list[bool]) -> None:
    negative = np.array(flags, np.bool_)
    assert packing.unpack_signs(packing.pack_signs(negative), negative.size).tolist() == flags
    assert packing.unpack_terminated(packing.pack_terminated(negative)).tolist() == flags


def test_signs_that_lie() -> None:
    with pytest.raises(WireError, match="beyond the last"):
        packing.unpack_signs(b"\x08", 3)
    for frame in (b"", b"\x01\x00"):
        with pytest.raises(WireError, match="no end"):
            packing.unpack_terminated(frame)


@pytest.mark.parametrize(
    "description",
    [
        {"kind": "threshold", "threshold": 0.0},
        {"kind": "threshold", "threshold": float("nan")},
        {"kind": "threshold", "threshold": 1.0, "values": "f8"},
        {"kind": "strom", "threshold": -1.0},
        {"kind": "strom", "threshold": 1e39},
        {"kind": "dryden", "keep": 0.0},
        {"kind": "dryden", "keep": 0.1, "indices": "u33"},
        {"kind": "randomk", "keep": 1.1},
        {"kind": "dgc", "momentum": 1.0},
        {"kind": "dgc", "clip": 0.0},
        {"kind": "dgc", "warm_up": -1},
        {"kind": "dgc", "keep": float("nan")},
        {"kind": "qsgd", "levels": 0},
        {"kind": "qsgd", "levels": 128},
        {"kind": "qsgd", "bucket": 0},
        {"kind": "terngrad", "clip": -1.0},
        {"kind": "terngrad", "clip": float("inf")},
    ],
)
def test_an_impossible_codec_is_refused(description: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        make(description)


def test_the_mean_is_not_lost_in_large_numbers() -> None:
    """Sums of float32 near its end are made in double precision."""
    shape = layout(("dense", (3, 1)))
    gradient = np.array([3e38, 3.2e38, -3.4e38], F)
    frames = OneBit().start(place(shape)).encode(gradient)
    assert spread(OneBit().decode(frames, shape), 3) == pytest.approx([3.1e38, 3.1e38, -3.4e38])
    assert Threshold(3.3e38).decode(
        Threshold(3.3e38).encode(gradient, shape), shape
    ).values == pytest.approx([-3.4e38])
