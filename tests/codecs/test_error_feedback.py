"""Error feedback: what is not sent is kept, added to the next gradient, and nothing is lost."""

from typing import get_args

import numpy as np
import pytest
from hypothesis import strategies as st

from emulator.codecs import DGC, Codec, EncoderContext, ErrorFeedback, TopK, encoder
from emulator.codecs.dgc import DGCEncoder
from emulator.codecs.values import ValueCoding
from emulator.layout import Layout
from emulator.units import Fraction
from tests.fakes.codecs.codec_table import spread
from tests.fakes.codecs.stateless_codecs import CODECS, layout
from tests.fakes.tried_examples import tried


def place(shape: Layout) -> EncoderContext:
    return EncoderContext(shape, np.random.default_rng(0))


def fed_back(codec: Codec, shape: Layout) -> ErrorFeedback:
    return ErrorFeedback(codec.start(place(shape)), codec, shape)


@pytest.mark.parametrize("codec", CODECS)
@tried(quick=5, slow=20, seed=st.integers(0, 2**32 - 1), steps=st.integers(1, 12))
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
    item = TopK(Fraction.parse("34%"))
    held = encoder(item, place(shape), error_feedback=True)
    lost = encoder(item, place(shape), error_feedback=False)
    updates = [spread(item.decode(held.encode(gradient), shape), 3).tolist() for _ in range(3)]
    assert updates == [[5, 0, 0], [0, -6, 0], [10, 0, 0]]
    updates = [spread(item.decode(lost.encode(gradient), shape), 3).tolist() for _ in range(3)]
    assert updates == [[5, 0, 0]] * 3


@pytest.mark.parametrize("gradient", [[np.nan, 1], [3e38, 1]])
def test_a_refused_gradient_leaves_no_trace_in_the_residual(gradient: list[float]) -> None:
    feedback = fed_back(TopK(Fraction.parse("50%")), layout(2))
    feedback.residual = np.array([3e38, 1], np.float32)
    with pytest.raises(ValueError, match="diverged"):
        feedback.encode(np.array(gradient, np.float32))
    assert feedback.residual.tolist() == np.array([3e38, 1], np.float32).tolist()


@pytest.mark.parametrize("values", get_args(ValueCoding))
def test_dgc_keeps_what_the_coding_of_values_rounds_off(values: ValueCoding) -> None:
    """v is what was gathered less what the server decodes, at each entry that was sent."""
    codec, shape = DGC(keep=Fraction(0.1), momentum=0, values=values), layout(90, 7)
    gathering = codec.start(place(shape))
    assert isinstance(gathering, DGCEncoder)
    gathered = np.zeros(97, np.float32)
    for draw in np.random.default_rng(1).standard_normal((5, 97)).astype(np.float32):
        gathered += draw
        gathered -= spread(codec.decode(gathering.encode(draw), shape), 97)
        assert np.allclose(gathering.residual, gathered, rtol=0, atol=1e-5)
