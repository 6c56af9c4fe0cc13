"""Codings of activations and of their gradients: exact, half as large, and never quietly wrong."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.core.cut.activation_values import ActivationCoding, DeviceCoder
from emulator.core.plan import Cut
from emulator.core.wire.messages import ActivationGradient, Logits
from emulator.errors import WireError
from emulator.learning.learners.base import Activated
from emulator.vectors import NotFinite

F = np.float32
VALUES = np.random.default_rng(3).normal(size=60).astype(F)
CODINGS = ("f32", "f16")


def test_f32_keeps_every_bit() -> None:
    coding = ActivationCoding("f32")
    assert coding.decode(coding.encode(VALUES)).tobytes() == VALUES.tobytes()
    frame = coding.encode_gradient(VALUES, 12)
    assert coding.decode_gradient(frame, 12).tobytes() == VALUES.tobytes()
    assert len(frame) == len(coding.encode(VALUES)) == 60 * coding.item == 240


def test_f16_takes_half_the_bytes_and_keeps_eleven_bits() -> None:
    coding = ActivationCoding("f16")
    frame = coding.encode(VALUES)
    assert len(frame) == 60 * coding.item == 120
    np.testing.assert_array_equal(coding.decode(frame), VALUES.astype(np.float16).astype(F))
    np.testing.assert_allclose(
        coding.decode_gradient(coding.encode_gradient(VALUES, 12), 12), VALUES, rtol=2**-11
    )


def test_f16_clips_what_it_cannot_hold() -> None:
    coding = ActivationCoding("f16")
    wide = np.array([1e6, -1e6, 65_504], F)
    assert coding.decode(coding.encode(wide)).tolist() == [65_504, -65_504, 65_504]
    clipped = coding.decode_gradient(coding.encode_gradient(wide, 1), 1)
    assert clipped.tolist() == [65_504 / 1024, -65_504 / 1024, 65_504 / 1024]


@given(rows=st.integers(1, 1 << 20), exponent=st.integers(-30, 5))
def test_f16_gradients_of_one_example_keep_ten_bits_however_many_share_the_mean(
    rows: int, exponent: int
) -> None:
    """Unscaled, a mean over 256 examples would lose all below 1.5e-5 of each."""
    coding = ActivationCoding("f16")
    gradient = np.array([1.37 * 2.0 ** min(exponent, 4), -(2.0**-23)], F) / F(rows)
    back = coding.decode_gradient(coding.encode_gradient(gradient, rows), rows)
    np.testing.assert_allclose(back, gradient, rtol=2**-10, atol=2.0**-34 / rows)


@pytest.mark.parametrize("values", CODINGS)
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_not_sent_and_its_gradient_is_nothing_but_nan(
    values: str, odd: float
) -> None:
    coding = ActivationCoding(values)
    diverged = np.array([1, odd, 2], F)
    with pytest.raises(NotFinite):
        coding.encode(diverged)
    lie = diverged.astype(np.float16 if values == "f16" else F).tobytes()
    with pytest.raises(WireError, match="not finite"):
        coding.decode(lie)
    assert np.isnan(coding.decode_gradient(coding.encode_gradient(diverged, 3), 3)).all()


@pytest.mark.parametrize("values", CODINGS)
def test_labels_travel_only_if_they_are_to(values: str) -> None:
    activated = Activated(VALUES, 12, np.arange(12, dtype=np.int32))
    sent = DeviceCoder(Cut(1, "sent", values)).activations(activated)
    assert sent.rows == 12 and sent.labels == np.arange(12, dtype="<i4").tobytes()
    local = DeviceCoder(Cut(1, "local", values))
    assert local.activations(activated).labels is None
    coding = ActivationCoding(values)
    answer = ActivationGradient(0, 0.5, coding.encode_gradient(VALUES, 12))
    np.testing.assert_allclose(local.slopes(answer, 12), VALUES, rtol=2**-11)
    logits = np.array([0.5, -1], F)
    assert local.logits(Logits(0, logits.tobytes())).tolist() == [0.5, -1]
    assert local.logit_gradient(logits) == logits.tobytes()
    with pytest.raises(NotFinite):
        local.logit_gradient(np.array([np.nan], F))
