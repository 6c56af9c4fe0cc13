"""Laws of every way to write indices and values, and of the two together."""

import math
import re
import struct

import numpy as np
import pytest
from hypothesis import example
from hypothesis import strategies as st

from emulator.codecs import packing
from emulator.codecs.indices import CODINGS, IndexCoder, bitmap
from emulator.errors import WireError
from emulator.layout import Layout
from emulator.learning import models
from tests.fakes.codecs.index_sets import layout, sets, u32
from tests.fakes.tried_examples import tried
from tests.layers import ROOT

INDICES = [pytest.param(coding, id=name) for name, coding in CODINGS.items()]


# -- indices ---------------------------------------------------------------------------------------


@pytest.mark.mostly_slow(quick=2)
@pytest.mark.parametrize("coding", INDICES)
@tried(quick=20, slow=80, case=sets())
@example(case=([], layout((1,))))
@example(case=([0], layout((1,))))
@example(case=([0, 2**21], layout((2**21,), (1,))))
@example(case=([127, 256, 16_641, 33_026], layout((33_027,))))
@example(case=([65_535, 65_536, 199_999], layout((1000, 200))))
def test_indices_come_back(coding: IndexCoder, case: tuple[list[int], Layout]) -> None:
    indices, shape = case
    frame = coding.encode(u32(indices), shape)
    decoded = coding.decode(memoryview(frame), len(indices), shape)
    assert decoded.dtype == np.uint32 and decoded.tolist() == indices
    assert 0 <= coding.header(frame) <= len(frame)
    assert coding.least(len(indices), shape) <= len(frame)


@pytest.mark.parametrize("coding", INDICES)
@tried(quick=10, slow=40, case=sets())
def test_too_little_or_too_much_is_refused(
    coding: IndexCoder, case: tuple[list[int], Layout]
) -> None:
    indices, shape = case
    frame = coding.encode(u32(indices), shape)
    for wrong in [frame[:-1], frame + b"\0", frame + b"\xff"]:
        if wrong != frame:
            with pytest.raises(WireError):
                coding.decode(wrong, len(indices), shape)
    for entries in {len(indices) - 1, len(indices) + 1} & {*range(shape.size + 1)}:
        try:
            said = coding.decode(frame, entries, shape)
        except WireError:
            continue
        # Golomb's divisor follows from the number: other bits, and another set
        assert coding not in (CODINGS["gap"], CODINGS["u32"], CODINGS["u16"], CODINGS["bitmap"])
        assert said.size == entries


@pytest.mark.mostly_slow(quick=2)
@pytest.mark.parametrize("coding", INDICES)
@tried(quick=20, slow=80, case=sets(), data=st.data())
def test_a_frame_with_errors_is_refused_or_another_set(
    coding: IndexCoder, case: tuple[list[int], Layout], data: st.DataObject
) -> None:
    indices, shape = case
    frame = bytearray(coding.encode(u32(indices), shape))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(frame)))
        frame[at : at + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=5))
    try:
        said = coding.decode(bytes(frame), len(indices), shape)
    except WireError:
        return
    assert said.size == len(indices)
    assert (np.diff(said.astype(np.int64)) > 0).all()
    assert not said.size or said[-1] < shape.size
    if coding is CODINGS["auto"]:  # which way it took is the sender's affair
        coding = taken(frame)
        frame = frame[1:]
    assert coding.encode(said, shape) == bytes(frame)


def taken(frame: bytearray) -> IndexCoder:
    return CODINGS["auto"].codings[frame[0]]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "name, reason, frame",
    [
        ("u16", "8 bytes of indices", struct.pack("<2I", 1, 1)),
        ("u16", "blocks of 3 indices", struct.pack("<2I2H", 1, 2, 0, 0)),
        ("u16", "do not ascend", struct.pack("<2I2H", 2, 0, 1, 1)),
        ("u16", "index 70000 of 70000", struct.pack("<2I2H", 1, 1, 1, 70_000 - 65_536)),
        ("bitmap", "a bitmap of 8749 bytes", bytes(8749)),
        ("bitmap", "a bitmap of 1 indices", b"\1" + bytes(8749)),
        ("golomb", "ends before 2", b""),
        ("golomb", "ends before 2", b"\1"),
        ("golomb", "no proper end", b"\3\0\0\x80"),
        ("golomb", "bytes of Golomb code", b"\3" + bytes(9)),
        ("golomb", "of 70000", b"\xfc\xff\xff\xff\x03"),
        ("matrix", "7 bytes of rows and columns", bytes(7)),
        ("matrix", "4294967295 indices of 700", struct.pack("<2I", 2**32 - 1, 1)),
        ("auto", "an unknown coding", b""),
        ("auto", "an unknown coding", b"\x06"),
    ],
)
def test_lies_about_two_indices(name: str, reason: str, frame: bytes) -> None:
    with pytest.raises(WireError, match=reason):
        CODINGS[name].decode(frame, 2, layout((700, 100)))  # type: ignore[index]


def test_rows_and_columns_that_do_not_occur_are_refused() -> None:
    shape = layout((3, 4))
    written = CODINGS["matrix"].encode(u32([0, 5]), shape)  # rows 0 and 1, columns 0 and 1
    assert CODINGS["matrix"].decode(written, 2, shape).tolist() == [0, 5]
    refused = 0
    for last in range(256):  # the crossings: two of four
        try:
            said = CODINGS["matrix"].decode(written[:-1] + bytes([last]), 2, shape).tolist()
        except WireError as error:
            refused += "without any index" in str(error)
        else:
            assert said in ([0, 5], [1, 4])
    assert refused == 4


def least(entries: int, size: int) -> float:
    """Bits that tell a set of this size apart from all others: log2 C(size, entries)."""
    return (math.lgamma(size + 1) - math.lgamma(entries + 1) - math.lgamma(size - entries + 1)) / (
        math.log(2)
    )


@pytest.mark.parametrize("share", [0.001, 0.002, 0.005, 0.01, 0.03, 0.07, 0.1, 0.15, 0.19, 0.25])
@pytest.mark.parametrize("entries", [1000, 4000, 30_000])
def test_golombs_code_is_within_two_per_cent_of_the_least(share: float, entries: int) -> None:
    size = int(entries / share)
    if size > 5_000_000:
        size, entries = 5_000_000, int(5_000_000 * share)
    draws = np.random.default_rng(entries)
    indices = np.sort(draws.choice(size, entries, replace=False)).astype(np.uint32)
    frame = CODINGS["golomb"].encode(indices, layout((size,)))
    assert 8 * len(frame) < 1.02 * least(entries, size)
    assert np.array_equal(CODINGS["golomb"].decode(frame, entries, layout((size,))), indices)


@pytest.mark.parametrize(("share", "more"), [(0.001, 16), (0.01, 5), (0.05, 1)])
def test_random_sets_cost_matrix_more_than_golomb_as_the_page_says(share: float, more: int) -> None:
    shape, draws = models.find("mnist-cnn").layout, np.random.default_rng(1)
    size = dict.fromkeys(("golomb", "matrix"), 0)
    for _ in range(16):
        chosen = draws.choice(shape.size, int(shape.size * share), replace=False)
        indices = np.sort(chosen).astype(np.uint32)
        for name in size:
            size[name] += len(CODINGS[name].encode(indices, shape))
    assert 100 * (size["matrix"] / size["golomb"] - 1) == pytest.approx(more, abs=0.7)
    page = " ".join((ROOT / "docs" / "coding.md").read_text().split())
    assert re.search(rf"{more} % (?:more )?at {100 * share:g} %", page)


@tried(quick=15, slow=60, case=sets())
def test_auto_is_the_shortest_and_a_byte(case: tuple[list[int], Layout]) -> None:
    indices, shape = case
    ways = {name: coding.encode(u32(indices), shape) for name, coding in CODINGS.items()}
    frame = ways.pop("auto")
    assert len(frame) == 1 + min(map(len, ways.values()))
    assert CODINGS["auto"].header(frame) >= 1


def test_few_indices_cost_no_bit_for_each_parameter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bitmap, "encode", pytest.fail)
    indices, shape = u32(range(0, 2**16, 2**10)), layout((2**16,))
    frame = CODINGS["auto"].encode(indices, shape)
    assert CODINGS["auto"].decode(frame, indices.size, shape).tolist() == indices.tolist()


def test_rows_and_columns_are_half_of_what_a_random_set_takes() -> None:
    """A dense layer of which one input in five and one unit in three are not silent."""
    draws = np.random.default_rng(2)
    loud = np.outer(draws.random(3136) < 0.2, draws.random(128) < 0.35)
    chosen = loud.ravel() & (draws.random(3136 * 128) < 0.15)
    indices, shape = np.flatnonzero(chosen).astype(np.uint32), layout((3136, 128))
    frame = CODINGS["matrix"].encode(indices, shape)
    assert 8 * len(frame) < 0.6 * least(indices.size, shape.size)
    assert CODINGS["auto"].encode(indices, shape)[1:] == frame


def test_golombs_code_by_hand() -> None:
    # three of 24, so the divisor is 5: remainders from 3 up take a third bit
    frame = CODINGS["golomb"].encode(u32([2, 9, 14]), layout((24,)))
    # skipped 2, 6, 4: quotients 0, 1, 0, remainders 2, 1, and 4 as 3 and a last bit
    quotients, ones, twos, last = "1011", "011", "101", "1"
    written = (quotients + ones + twos + last).ljust(16, "0")
    assert frame == int(written[::-1], 2).to_bytes(2, "little")
    # all but one of 24: the one that is left out
    most = CODINGS["golomb"].encode(u32([*range(7), *range(8, 24)]), layout((24,)))
    assert most == CODINGS["golomb"].encode(u32([7]), layout((24,)))


@pytest.mark.parametrize("size", [0, 1, 7, 40_000, 65_536, 100_003])
@pytest.mark.parametrize("share", [0, 1e-4, 0.01, 0.04, 0.1, 0.5, 1])
@pytest.mark.parametrize("clustered", [False, True])
def test_flags_are_found_however_many(size: int, share: float, clustered: bool) -> None:
    flags = np.random.default_rng(size).random(size) < share
    if clustered:
        flags = np.resize(flags[: size // 30 + 1].repeat(30), size)
    expected = np.flatnonzero(flags)
    assert np.array_equal(packing.positions(packing.packed(flags)), expected)
