"""Frames by the byte: golden frames, and frames that lie."""

import struct

import numpy as np
import pytest

from emulator.codecs import Dense, TopK
from emulator.codecs.indices import CODINGS
from emulator.errors import WireError
from emulator.units import Fraction
from tests.fakes.codecs.stateless_codecs import layout


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
