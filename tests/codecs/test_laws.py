"""Laws that the other codecs keep; `test_codecs` has those of dense, top-k and error feedback."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from emulator import codecs
from emulator.codecs import encoder, refusal
from emulator.codecs.base import decode_once
from emulator.core import wire
from emulator.core.wire.messages import Update
from emulator.errors import WireError
from emulator.layout import Layout
from emulator.vectors import NotFinite, Vector
from tests.fakes.codecs.codec_table import ROWS, SMALL, Row, layout, place, rows, spread, updates
from tests.fakes.tried_examples import tried

F = np.float32

# few different magnitudes, so that ties and zeros are common; the smallest; and anything finite
ENTRIES = st.one_of(
    st.sampled_from([0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 0.75, 1e-45, -1e-45, 1e-38]),
    st.floats(-(2.0**100), 2.0**100, width=32),
)
HUGE = st.sampled_from([3.4e38, -3.4e38, 0.0, 1.0, 1e-45])
# whole multiples of one power of two: their sums are exact in double precision, in any order
MULTIPLES = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0]),
    st.integers(-(2**23), 2**23).map(float),
)
UNITS = st.integers(-140, 100).map(lambda exponent: 2.0**exponent)
KINDS = st.sampled_from(["conv", "dense", "recurrent", "bias"])
SHAPES = st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple)
LAYOUTS = st.lists(st.tuples(KINDS, SHAPES), min_size=1, max_size=4).map(lambda v: layout(*v))


def vectors(size: int, entries: st.SearchStrategy[float] = ENTRIES) -> st.SearchStrategy[Vector]:
    return arrays(F, size, elements=entries.map(F))


def normal(seed: int, size: int, count: int) -> Any:
    return np.random.default_rng(seed).standard_normal((count, size)).astype(F)


@pytest.mark.mostly_slow
@pytest.mark.parametrize("row", rows(lambda row: row.naive is not None))
@tried(quick=6, slow=25, data=st.data(), shape=LAYOUTS)
def test_updates_say_what_the_paper_says(row: Row, data: st.DataObject, shape: Layout) -> None:
    unit = data.draw(UNITS)
    entries = MULTIPLES.map(lambda number: number * unit)
    gradients = data.draw(st.lists(vectors(shape.size, entries), min_size=1, max_size=5))
    assert row.naive is not None
    naive = row.naive(row.codec, shape)
    for said, gradient in zip(updates(row.codec, shape, iter(gradients)), gradients, strict=True):
        assert np.array_equal(said, naive(gradient))


@pytest.mark.parametrize("row", rows())
def test_updates_fit_into_a_message(row: Row) -> None:
    frames = encoder(row.codec, place(SMALL), False).encode(normal(2, SMALL.size, 1)[0])
    sent = wire.pack(Update("home-0", 0, 1.0, 0.1, frames))
    came = wire.unpack([bytes(frame) for frame in sent])
    assert isinstance(came, Update)
    assert [bytes(item) for item in came.frames] == [bytes(item) for item in frames]


@pytest.mark.parametrize("row", rows(lambda row: row.naive is not None))
def test_so_do_those_of_larger_variables(row: Row) -> None:
    shape = layout(("conv", (5, 5, 1, 20)), ("bias", (20,)), ("dense", (61, 53)), ("bias", (53,)))
    gradients = normal(1, shape.size, 4)
    gradients[:, 700:2100] = 0
    assert row.naive is not None
    naive = row.naive(row.codec, shape)
    for said, gradient in zip(updates(row.codec, shape, gradients), gradients, strict=True):
        assert np.array_equal(said, naive(gradient))


@pytest.mark.mostly_slow(quick=7)
@pytest.mark.parametrize("row", rows())
@tried(quick=6, slow=25, data=st.data(), shape=LAYOUTS)
def test_every_byte_is_accounted_for(row: Row, data: st.DataObject, shape: Layout) -> None:
    gradient = data.draw(vectors(shape.size, ENTRIES | HUGE))
    try:
        frames = row.codec.start(place(shape)).encode(gradient)
    except NotFinite:
        assert abs(gradient).max() > 2.0**100
        return
    count, said = row.codec.count(frames), row.codec.decode(frames, shape)
    assert sum(count) == sum(map(len, frames)) and min(count) >= 0
    assert np.isfinite(said.values).all() and said.values.dtype == F
    assert said.indices is None or said.indices.dtype == np.uint32
    # as a socket hands it over
    views = [memoryview(bytes(frame)) for frame in frames]
    assert row.codec.count(views) == count
    again = row.codec.decode(views, shape)
    for item in (again, decode_once(frames, row.codec, shape)):
        assert spread(item, shape.size).tobytes() == spread(said, shape.size).tobytes()
        assert len(item.values) == len(said.values)


@pytest.mark.parametrize("row", rows())
def test_the_same_dice_the_same_bytes(row: Row) -> None:
    gradients = normal(2, SMALL.size, 3)
    one, other = row.codec.start(place(SMALL, 7)), row.codec.start(place(SMALL, 7))
    for gradient in gradients:
        copy = gradient.copy()
        frames = [bytes(frame) for frame in one.encode(gradient)]
        assert np.array_equal(gradient, copy)
        sent = other.encode(copy)
        copy[:] = 0  # which the frames outlive
        assert [bytes(frame) for frame in sent] == frames


@pytest.mark.parametrize("row", rows())
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("at", [0, 37, 50, SMALL.size - 1])
def test_what_is_refused_leaves_no_trace(row: Row, wrong: float, at: int) -> None:
    first, second = normal(3, SMALL.size, 2)
    spoilt = second.copy()
    spoilt[at] = wrong
    one, other = row.codec.start(place(SMALL)), row.codec.start(place(SMALL))
    one.encode(first)
    other.encode(first)
    with pytest.raises(NotFinite, match=r"gradient of v\d holds -?(nan|inf): training diverged"):
        one.encode(spoilt)
    with pytest.raises(ValueError, match="float32 of shape"):
        one.encode(second[:-1])
    assert one.encode(second) == other.encode(second)


@pytest.mark.parametrize("row", rows())
def test_frames_too_long_or_too_short_are_refused(row: Row) -> None:
    (gradient,) = normal(4, SMALL.size, 1)
    frames = [bytes(frame) for frame in row.codec.start(place(SMALL)).encode(gradient)]
    for number, frame in enumerate(frames):
        for other in (frame[:-1], b"", frame + b"\0", frame + b"\1", frame + frame):
            if other != frame:
                with pytest.raises(WireError):
                    row.codec.decode([*frames[:number], other, *frames[number + 1 :]], SMALL)
    for lying in (frames[:-1], [*frames, b""], []):
        with pytest.raises(WireError):
            row.codec.decode(lying, SMALL)
    with pytest.raises(WireError):
        row.codec.decode(frames, layout(("dense", (3,))))


@pytest.mark.mostly_slow(quick=7)
@pytest.mark.parametrize("row", rows())
@tried(quick=10, slow=40, data=st.data())
def test_mutated_frames_are_refused_or_harmless(row: Row, data: st.DataObject) -> None:
    (gradient,) = normal(data.draw(st.integers(0, 3)), SMALL.size, 1)
    frames = [bytearray(frame) for frame in row.codec.start(place(SMALL)).encode(gradient)]
    for _ in range(data.draw(st.integers(1, 4))):
        frame = data.draw(st.sampled_from(frames))
        at = data.draw(st.integers(0, len(frame)))
        frame[at : at + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=5))
    try:
        said = row.codec.decode([bytes(frame) for frame in frames], SMALL)
    except WireError:
        return
    assert np.isfinite(said.values).all()
    if said.indices is None:
        assert said.values.size == SMALL.size
    else:
        assert said.values.size == said.indices.size
        assert (np.diff(said.indices.astype(int)) > 0).all()
        assert not said.indices.size or said.indices[-1] < SMALL.size


@pytest.mark.parametrize("row", rows())
def test_travels_as_plain_data(row: Row) -> None:
    description = codecs.plain(row.codec)
    assert {type(value) for value in description.values()} <= {str, float, int, bool, type(None)}
    assert codecs.make(description) == row.codec


# -- what is kept --------------------------------------------------------------------------------


@pytest.mark.mostly_slow(quick=6)
@pytest.mark.parametrize("row", rows(lambda row: row.keeps or row.feedback))
@tried(quick=4, slow=15, seed=st.integers(0, 2**32 - 1), steps=st.integers(1, 30))
def test_nothing_is_lost(row: Row, seed: int, steps: int) -> None:
    """What came in is what went out and what is left, to the rounding of float32."""
    held: Any = encoder(row.codec, place(SMALL), error_feedback=row.feedback)
    came, went, most = np.zeros(SMALL.size), np.zeros(SMALL.size), 1.0
    for gradient in normal(seed, SMALL.size, steps):
        went += spread(row.codec.decode(held.encode(gradient), SMALL), SMALL.size)
        came += gradient
        most = max(most, abs(came).max(), abs(held.residual).max())
    assert np.allclose(came, went + held.residual, rtol=0, atol=4e-7 * steps * most)


@pytest.mark.parametrize("row", rows())
def test_who_remembers_refuses_to_be_reminded(row: Row) -> None:
    reason = refusal(row.codec)
    if not reason:
        assert encoder(row.codec, place(SMALL), error_feedback=True).encode(np.zeros(SMALL.size, F))
        return
    with pytest.raises(ValueError, match="no error feedback") as refused:
        encoder(row.codec, place(SMALL), error_feedback=True)
    assert reason in str(refused.value)
    assert encoder(row.codec, place(SMALL), error_feedback=False)


@pytest.mark.parametrize("row", rows())
def test_the_row_says_whether_error_feedback_may_go_around_the_codec(row: Row) -> None:
    assert row.feedback == (not refusal(row.codec))


# -- what is drawn -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "randomk",
        "qsgd",
        pytest.param("qsgd-4", marks=pytest.mark.slow),
        pytest.param("qsgd-127", marks=pytest.mark.slow),
        "terngrad-whole",
    ],
)
def test_what_is_drawn_is_right_on_average(name: str) -> None:
    """Within 5 standard errors in each of 86 entries, or what a few rare steps would make of it."""
    codec, times = ROWS[name].codec, 3000
    (gradient,) = normal(5, SMALL.size, 1)
    gradient[::7] = 0
    held = codec.start(place(SMALL))
    drawn = np.array(
        [spread(codec.decode(held.encode(gradient), SMALL), SMALL.size) for _ in range(times)]
    )
    error, deviation = drawn.mean(axis=0, dtype=float) - gradient, drawn.std(axis=0, dtype=float)
    rare = 16 * abs(drawn).max() / getattr(codec, "levels", 1) / times
    assert (abs(error) <= 5 * deviation / math.sqrt(times) + rare).all()
    # neither drawn towards zero nor away from it, all entries taken together
    outwards = (error * np.sign(gradient)).mean()
    assert abs(outwards) <= 5 * math.sqrt((deviation**2).mean() / times / SMALL.size)
    assert deviation.max() > 0.01
