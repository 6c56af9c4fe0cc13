"""Bytes of an update in segments: those of one message, and a few for each further segment."""

import math
from collections.abc import Container
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from emulator.codecs import ByteCount, Codec, SegmentEncoder, encoder, uncuttable
from emulator.codecs.base import decode_once
from emulator.codecs.indices import CODINGS as INDICES
from emulator.codecs.values import CODINGS as VALUES
from emulator.layout import Kind, Layout, Segment
from emulator.vectors import Vector
from tests.fakes.codecs.codec_table import ROWS, place
from tests.fakes.codecs.segments import cut, cuts_of, layered, layouts
from tests.fakes.codecs.stateless_codecs import CODECS
from tests.fakes.tried_examples import tried

F = np.float32
VALUES_MORE = {
    "signsgd": 1,  # the last byte of signs is filled up in each segment
    "onebit": 1,
    "ef-signsgd": 1,
    "dryden": 1,
    "ternary": 1,  # as well as the end mark
    "qsgd": 8,  # and here the last word of digits
    "terngrad": 8,
}
"""Bytes of values that each further segment may take more, by codec and value coding."""
INDICES_MORE = {
    "u32": (0, 0),
    "gap": (-4, 0),  # the gap across a cut begins at the cut
    "bitmap": (0, 1),
    "u16": (0, 4),  # the count of a block: blocks begin anew
}
"""Least and most bytes of indices that each further segment may take more."""
HEADERS_MORE = {"qsgd": 4}  # the norm of a bucket: buckets begin anew
BLOCKS = layered([("dense", (70_001,))], [("dense", (40_000,))], [("dense", (333, 200))])
"""Three layers around the blocks of 65,536 parameters of `u16`."""


def dense(size: int) -> list[tuple[Kind, tuple[int, ...]]]:
    """A layer of one variable."""
    return [("dense", (size,))]


def every(quick_values: Container[str] = VALUES) -> list[Any]:
    """A codec of each kind that can be cut, with every coding of indices and of values.

    Rows with a coding of values outside of `quick_values` are slow.
    """
    codecs: list[Any] = [row.codec for row in ROWS.values()]
    codecs += [item.values[0] for item in CODECS]
    one_each = {codec.kind: codec for codec in reversed(codecs) if not uncuttable(codec)}
    result = []
    for codec in one_each.values():
        named = {field.name for field in fields(codec)}
        for indices in INDICES if "indices" in named else [None]:
            for values in VALUES if "values" in named else [None]:
                codings = {"indices": indices, "values": values}
                changed = {name: coding for name, coding in codings.items() if coding}
                item = replace(codec, **changed)
                name = " ".join([codec.kind, *changed.values()])
                marks = () if values is None or values in quick_values else pytest.mark.slow
                result.append(pytest.param(item, id=name, marks=marks))
    return result


def counts(
    codec: Codec, held: SegmentEncoder, gradient: Vector, shape: Layout, at: list[Segment]
) -> tuple[ByteCount, int]:
    """The bytes of all segments of an update by content, and its entries."""
    coded = [(held.encode(one, gradient[shape.place(one)]), shape.part(one)) for one in at]
    entries = sum(decode_once(frames, codec, part).values.size for frames, part in coded)
    parts = [codec.count(frames) for frames, _ in coded]
    assert [sum(part) for part in parts] == [sum(map(len, frames)) for frames, _ in coded]
    return ByteCount(*map(sum, zip(*parts, strict=True))), entries


def slack(coding: str, entries: int, size: int, segments: int) -> tuple[float, float]:
    """Least and most bytes that the `entries` indices of an update in `segments` take more.

    A Golomb code takes at least log2(x) - 0.6 bits an index, whichever the set is, and at most
    log2(x) + 2.9, where one parameter in x is sent. By the concavity of the logarithm so do the
    codes of all segments together: they need less than 4 bits an index more, and a byte of padding.
    `matrix` has three such codes and a head of 8 bytes.
    """
    further, few = segments - 1, min(entries, size - entries)
    if coding in INDICES_MORE:
        least, most = INDICES_MORE[coding]
        return least * further, most * further
    if coding == "golomb":
        return -math.inf, few / 2 + segments
    if coding == "matrix":
        return -math.inf, 3 * entries / 2 + (3 + 8) * segments
    kinds = ("gap", "golomb", "matrix", "bitmap", "u16", "u32")
    return -math.inf, further + max(slack(kind, entries, size, segments)[1] for kind in kinds)


def check(codec: Any, shape: Layout, seed: int, at: list[Segment]) -> None:
    """Compare two updates by segment with the same in one message each."""
    draws, further = np.random.default_rng(seed), len(at) - 1
    whole, held = encoder(codec, place(shape), False), SegmentEncoder(codec, place(shape))
    for _ in range(2):
        gradient = draws.standard_normal(shape.size) * np.exp(draws.standard_normal(shape.size))
        gradient[draws.random(shape.size) < 0.2] = 0
        one = codec.count(whole.encode(gradient.astype(F)))
        all_, entries = counts(codec, held, gradient.astype(F), shape, at)
        kind, coding = codec.kind, getattr(codec, "indices", None)
        scheme = "ternary" if kind in ("strom", "adacomp-residual") else ""
        values = VALUES_MORE.get(getattr(codec, "values", scheme), VALUES_MORE.get(kind, 0))
        assert 0 <= all_.values - one.values <= values * further
        more = all_.indices + all_.headers - one.indices - one.headers
        if kind == "randomk":
            assert more == 8 * further  # a seed
        else:
            least, most = slack(coding, entries, shape.size, len(at)) if coding else (0, 0)
            headers = HEADERS_MORE.get(kind, 0) * further
            assert least <= more <= most + headers


@pytest.mark.mostly_slow(quick=25)
@pytest.mark.parametrize("codec", every())
@tried(quick=2, slow=8, data=st.data(), shape=layouts(), seed=st.integers(0, 2**32 - 1))
def test_segments_cost_a_few_bytes_each(
    codec: Any, data: st.DataObject, shape: Layout, seed: int
) -> None:
    check(codec, shape, seed, data.draw(cuts_of(shape)))


@pytest.mark.mostly_slow(quick=17)
@pytest.mark.parametrize("codec", every(quick_values=["f32", "ternary"]))
def test_so_do_larger_ones(codec: Any) -> None:
    check(codec, BLOCKS, 1, cut(BLOCKS, [1, 2]))


@pytest.mark.slow
@pytest.mark.parametrize("coding", INDICES)
@tried(quick=30, slow=200, data=st.data())
def test_nor_do_indices_that_crowd_in_one_layer_cost_more(coding: Any, data: st.DataObject) -> None:
    """Sets unlike any random one: runs and crowds, of another density in each layer."""
    sizes = data.draw(st.lists(st.integers(1, 3000), min_size=2, max_size=4))
    shape = layered(*map(dense, sizes))
    chosen: list[int] = []
    for start, stop in shape.bounds:
        first = data.draw(st.integers(start, stop - 1))
        last = data.draw(st.integers(first, stop))
        chosen += range(first, last, data.draw(st.sampled_from([1, 1, 2, 7, 100])))
    indices, code = np.array(chosen, np.uint32), INDICES[coding]
    one, all_ = len(code.encode(indices, shape)), 0
    for layer, part in enumerate(shape.layers, 1):
        inside = indices[(indices >= part.start) & (indices < part.stop)]
        coded = code.encode(inside - np.uint32(part.start), shape.part((layer, layer)))
        assert code.decode(coded, inside.size, shape.part((layer, layer))).size == inside.size
        all_ += len(coded)
    least, most = slack(coding, indices.size, shape.size, len(sizes))
    assert least <= all_ - one <= most
