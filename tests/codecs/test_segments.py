"""Encoding by segment: the same values as the whole gradient's, whatever the cuts, nothing lost."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from emulator.codecs import (
    DGC,
    Codec,
    Dense,
    EFSignSGD,
    NotFinite,
    OneBit,
    RememberingEncoder,
    SegmentEncoder,
    TopK,
    encoder,
    uncuttable,
)
from emulator.codecs.feedback import RandomEncoder, StatelessEncoder
from emulator.layout import Layout, Segment
from emulator.units import Fraction
from emulator.vectors import Vector
from tests.fakes.codecs.codec_table import ROWS, SMALL, Row, place, rows, spread
from tests.fakes.codecs.segments import LAYERED, cut, cuts_of, layouts
from tests.fakes.codecs.stateless_codecs import CODECS
from tests.fakes.tried_examples import tried

F = np.float32
RANDOM = ("qsgd", "terngrad", "randomk")


def stateless() -> list[Any]:
    """The rows of the codecs without a memory, as rows of the other table."""
    codecs: dict[Any, Any] = {param.id: param.values[0] for param in CODECS}
    cuttable = {name: codec for name, codec in codecs.items() if not uncuttable(codec)}
    return [pytest.param(Row(codec, feedback=True), id=name) for name, codec in cuttable.items()]


CUTTABLE = [*rows(lambda row: not uncuttable(row.codec)), *stateless()]
BY_VARIABLE = [param for param in CUTTABLE if param.values[0].codec.kind not in RANDOM]


def decoded(codec: Codec, held: SegmentEncoder, gradient: Vector, shape: Layout, at: Any) -> Vector:
    """Encode `gradient` by the segments `at`, last layers first, and put the values together."""
    whole = np.zeros(shape.size, F)
    for segment in at:
        part, layout = shape.place(segment), shape.part(segment)
        frames = held.encode(segment, gradient[part])
        whole[part] = spread(codec.decode(frames, layout), layout.size)
    return whole


def residual(held: SegmentEncoder, shape: Layout) -> Vector:
    """The last vector of the memory, layer by layer: what was not sent."""
    whole = np.zeros(shape.size, F)
    for layer, piece in enumerate(held._pieces, 1):
        assert piece is not None and isinstance(piece.encoder, RememberingEncoder)
        memory = piece.encoder.memory(held._within(layer, piece.segment))
        whole[shape.place((layer, layer))] = memory.vectors[-1]
    return whole


def drawn(seed: int, size: int, steps: int) -> Iterator[Vector]:
    """Gradients whose entries differ widely in scale; some entries are zero."""
    draws = np.random.default_rng(seed)
    for _ in range(steps):
        gradient = draws.standard_normal(size) * np.exp(draws.standard_normal(size))
        gradient[draws.random(size) < 0.2] = 0
        yield gradient.astype(F)


@pytest.mark.mostly_slow(quick=7)
@pytest.mark.parametrize("feedback", [False, True], ids=["alone", "feedback"])
@pytest.mark.parametrize("row", BY_VARIABLE)
@tried(quick=4, slow=25, data=st.data(), shape=layouts(), seed=st.integers(0, 2**32 - 1))
def test_the_cuts_change_no_value(
    row: Row, feedback: bool, data: st.DataObject, shape: Layout, seed: int
) -> None:
    """Other cuts with each update, and the values and the memory are those of one message."""
    feedback = feedback and row.feedback
    whole = encoder(row.codec, place(shape), feedback)
    held = SegmentEncoder(row.codec, place(shape), feedback)
    for gradient in drawn(seed, shape.size, 4):
        expected = spread(row.codec.decode(whole.encode(gradient), shape), shape.size)
        sent = decoded(row.codec, held, gradient, shape, data.draw(cuts_of(shape)))
        assert sent.tobytes() == expected.tobytes()
        if isinstance(whole, RememberingEncoder):
            left = whole.memory(slice(None)).vectors[-1]
            assert residual(held, shape).tobytes() == left.tobytes()


@pytest.mark.parametrize("row", BY_VARIABLE)
def test_nor_do_they_in_larger_layers(row: Row) -> None:
    """Large enough for samples, blocks and pairwise sums to be cut in other places."""
    shape = LAYERED
    whole = encoder(row.codec, place(shape), row.feedback)
    held = SegmentEncoder(row.codec, place(shape), row.feedback)
    for gradient, at in zip(drawn(1, shape.size, 4), ["", "1", "13", "123"], strict=True):
        expected = spread(row.codec.decode(whole.encode(gradient), shape), shape.size)
        sent = decoded(row.codec, held, gradient, shape, cut(shape, map(int, at)))
        assert sent.tobytes() == expected.tobytes()


@pytest.mark.mostly_slow(quick=6)
@pytest.mark.parametrize(
    "row", [param for param in CUTTABLE if param.values[0].keeps or param.values[0].feedback]
)
@tried(
    quick=3,
    slow=15,
    data=st.data(),
    shape=layouts(),
    seed=st.integers(0, 2**32 - 1),
    steps=st.integers(1, 12),
)
def test_nothing_is_lost_when_the_cuts_change(
    row: Row, data: st.DataObject, shape: Layout, seed: int, steps: int
) -> None:
    """What came in is what went out and what is left, to the rounding of float32."""
    held = SegmentEncoder(row.codec, place(shape), row.feedback)
    came, went, most = np.zeros(shape.size), np.zeros(shape.size), 1.0
    for gradient in drawn(seed, shape.size, steps):
        went += decoded(row.codec, held, gradient, shape, data.draw(cuts_of(shape)))
        came += gradient
        most = max(most, abs(came).max(), abs(residual(held, shape)).max())
    assert np.allclose(came, went + residual(held, shape), rtol=0, atol=4e-7 * steps * most)


@pytest.mark.parametrize("row", [p for p in CUTTABLE if p.values[0].codec.kind == "terngrad"])
@tried(quick=4, slow=25, data=st.data(), shape=layouts(), seed=st.integers(0, 2**32 - 1))
def test_a_codec_that_draws_by_entry_draws_the_same_whatever_the_cuts(
    row: Row, data: st.DataObject, shape: Layout, seed: int
) -> None:
    whole = encoder(row.codec, place(shape), True)
    held = SegmentEncoder(row.codec, place(shape), True)
    for gradient in drawn(seed, shape.size, 3):
        expected = spread(row.codec.decode(whole.encode(gradient), shape), shape.size)
        sent = decoded(row.codec, held, gradient, shape, data.draw(cuts_of(shape)))
        assert sent.tobytes() == expected.tobytes()


@pytest.mark.parametrize("row", CUTTABLE)
def test_one_segment_is_the_whole_message(row: Row) -> None:
    one = (1, len(SMALL.layers))
    whole = encoder(row.codec, place(SMALL, 3), row.feedback)
    held = SegmentEncoder(row.codec, place(SMALL, 3), row.feedback)
    for gradient in drawn(2, SMALL.size, 3):
        assert list(held.encode(one, gradient)) == list(whole.encode(gradient))


@pytest.mark.parametrize("row", CUTTABLE)
def test_whether_frames_depend_on_more_than_the_gradient_is_known(row: Row) -> None:
    started = row.codec.start(place(SMALL))
    assert isinstance(started, StatelessEncoder | RandomEncoder | RememberingEncoder)
    alone = SegmentEncoder(row.codec, place(SMALL))
    assert alone.stateless == isinstance(started, StatelessEncoder)
    if row.feedback:
        assert not SegmentEncoder(row.codec, place(SMALL), True).stateless


# -- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("codec", "reason"),
    [
        (TopK(Fraction(0.1), scope="global"), "it ranks the whole model: write scope: variable"),
        (DGC(clip=1.0), "clip bounds the whole gradient: leave clip out"),
    ],
)
def test_a_codec_of_the_whole_gradient_is_refused(codec: Codec, reason: str) -> None:
    assert uncuttable(codec) == reason
    with pytest.raises(ValueError, match=f"cannot encode by segment: {reason}"):
        SegmentEncoder(codec, place(SMALL))


def test_no_other_codec_is_refused() -> None:
    """Or the laws above would be tried on fewer codecs than there are."""
    named = {name: row.codec for name, row in ROWS.items()}
    named |= {str(item.id): item.values[0] for item in CODECS}
    whole = {name for name, codec in named.items() if uncuttable(codec)}
    assert whole == {"topk-global", "dgc-clip"}


def test_error_feedback_goes_around_the_same_codecs() -> None:
    with pytest.raises(ValueError, match="no error feedback goes around this codec"):
        SegmentEncoder(OneBit(), place(SMALL), error_feedback=True)


def test_a_memory_that_cannot_move_is_refused() -> None:
    class Opaque(Dense):
        def start(self, context: Any) -> Any:
            return object()

    with pytest.raises(TypeError, match="object lacks the methods memory and recall"):
        SegmentEncoder(Opaque(), place(SMALL))


@pytest.mark.parametrize("segment", [(0, 1), (2, 1), (4, 5), (-1, 2)])
def test_a_segment_of_another_model_is_refused(segment: Segment) -> None:
    with pytest.raises(ValueError, match="among 4 layers"):
        SegmentEncoder(Dense(), place(SMALL)).encode(segment, np.zeros(1, F))


@pytest.mark.parametrize("row", CUTTABLE)
def test_a_gradient_of_another_segment_is_refused(row: Row) -> None:
    with pytest.raises(ValueError, match=r"float32 of shape \(46,\)"):
        SegmentEncoder(row.codec, place(SMALL)).encode((3, 4), np.zeros(40, F))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", BY_VARIABLE)
def test_a_refused_piece_leaves_no_trace_and_those_before_it_count_as_sent(
    row: Row, wrong: float
) -> None:
    """The layers of the pieces before have had an update more than those of the refused piece."""
    gradients = list(drawn(3, SMALL.size, 3))
    later, sooner = SMALL.place((3, 4)), SMALL.place((1, 2))
    one, other, ahead = (SegmentEncoder(row.codec, place(SMALL), row.feedback) for _ in range(3))
    for held in (one, other, ahead):
        decoded(row.codec, held, gradients[0], SMALL, [(3, 4), (1, 2)])
    spoilt = gradients[1][sooner].copy()
    spoilt[17] = wrong
    one.encode((3, 4), gradients[1][later])
    with pytest.raises(NotFinite, match=r"gradient of v\d holds -?(nan|inf): training diverged"):
        one.encode((1, 2), spoilt)
    ahead.encode((3, 4), gradients[1][later])
    assert one.encode((3, 4), gradients[2][later]) == ahead.encode((3, 4), gradients[2][later])
    assert one.encode((1, 2), gradients[2][sooner]) == other.encode((1, 2), gradients[2][sooner])


def test_a_memory_moves_with_its_layers_also_where_an_update_ends_early() -> None:
    """The layers that a device never came to keep what they had, whichever cuts come next."""
    shape, codec = SMALL, EFSignSGD()
    held = SegmentEncoder(codec, place(shape))
    first, second = drawn(4, shape.size, 2)
    decoded(codec, held, first, shape, [(3, 4), (1, 2)])
    before = residual(held, shape)
    held.encode((2, 4), second[shape.place((2, 4))])  # and layer 1 is never reached
    after = residual(held, shape)
    assert np.array_equal(after[shape.place((1, 1))], before[shape.place((1, 1))])
    assert not np.array_equal(after[shape.place((2, 2))], before[shape.place((2, 2))])
    sooner, layout = shape.place((1, 2)), shape.part((1, 2))
    frames = held.encode((1, 2), np.zeros(layout.size, F))
    went = spread(codec.decode(frames, layout), layout.size)
    assert np.allclose(went + residual(held, shape)[sooner], after[sooner], atol=1e-6)
    assert np.array_equal(residual(held, shape)[shape.place((3, 4))], after[shape.place((3, 4))])


def test_the_warm_up_goes_on_where_the_cuts_change() -> None:
    codec = DGC(Fraction.parse("1%"), warm_up=2)
    held = SegmentEncoder(codec, place(LAYERED))
    sizes: list[int] = []
    for gradient in drawn(5, LAYERED.size, 6):
        at = cut(LAYERED, [1 + len(sizes) % 3])
        sizes.append(int(np.count_nonzero(decoded(codec, held, gradient, LAYERED, at))))
    # two updates an epoch: a quarter, then a sixteenth, then one in a hundred
    assert [round(LAYERED.size / size) for size in sizes] == [4, 4, 16, 16, 100, 100]
