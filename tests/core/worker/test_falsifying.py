"""The lies of a Byzantine device, against their formulas."""

import numpy as np
import pytest

from emulator.core.worker.falsifying import Falsifier, FalsifyingEncoder
from emulator.layout import Segment
from emulator.vectors import Frames
from emulator.world.faults import FAULTS
from emulator.world.verbs import Setting

GRADIENT = np.array([1.0, -2.0, 0.5, 4.0], np.float32)


def setting(lie: str, by: float | None = None) -> Setting:
    begin = FAULTS["byzantine"](lie=lie, by=by).begin("a")  # type: ignore[call-arg]
    assert begin.setting is not None
    return begin.setting


def falsifier(incarnation: int = 0) -> Falsifier:
    return Falsifier(7, "a", incarnation)


@pytest.mark.parametrize(
    ("lie", "by", "expected"),
    [
        ("sign-flip", None, [-1.0, 2.0, -0.5, -4.0]),
        ("sign-flip", 3.0, [-3.0, 6.0, -1.5, -12.0]),
        ("scale", None, [10.0, -20.0, 5.0, 40.0]),
        ("scale", 0.5, [0.5, -1.0, 0.25, 2.0]),
        ("same-value", None, [1.0, 1.0, 1.0, 1.0]),
        ("same-value", -0.25, [-0.25] * 4),
        ("replay", None, GRADIENT.tolist()),
        ("replay", 2.0, (2 * GRADIENT).tolist()),
    ],
)
def test_a_lie_is_what_it_says(lie: str, by: float | None, expected: list[float]) -> None:
    before = GRADIENT.copy()
    result = falsifier().falsify(GRADIENT, setting(lie, by))
    assert result.dtype == np.float32
    assert result.tolist() == expected
    np.testing.assert_array_equal(GRADIENT, before)


def test_without_a_setting_the_gradient_stays_what_it_is() -> None:
    assert falsifier().falsify(GRADIENT, None) is GRADIENT


def test_noise_is_as_strong_as_it_says_and_the_same_for_the_same_seed() -> None:
    rng = np.random.default_rng(1)
    gradient = rng.normal(2.0, 0.5, 200_000).astype(np.float32)
    size = float(np.sqrt(np.mean(gradient.astype(float) ** 2)))
    noise = falsifier().falsify(gradient, setting("noise", 3.0)) - gradient
    assert noise.std() == pytest.approx(3 * size, rel=0.02)
    assert noise.mean() == pytest.approx(0, abs=0.03 * size)
    again = falsifier().falsify(gradient, setting("noise", 3.0)) - gradient
    np.testing.assert_array_equal(noise, again)
    assert not np.array_equal(falsifier(1).falsify(gradient, setting("noise")), noise)


def test_a_replay_repeats_the_first_gradient_under_the_fault() -> None:
    liar, replay = falsifier(), setting("replay")
    first, second, third = (np.full(3, value, np.float32) for value in (1, 2, 3))
    assert liar.falsify(first, replay).tolist() == [1, 1, 1]
    first[:] = 9  # a learner may use its array again
    assert liar.falsify(second, replay).tolist() == [1, 1, 1]
    assert liar.falsify(second, None).tolist() == [2, 2, 2]
    assert liar.falsify(third, replay).tolist() == [3, 3, 3]


def test_a_replay_of_a_gradient_in_pieces_repeats_each_piece() -> None:
    liar, replay = falsifier(), setting("replay")
    for scale in (1, 2):
        for segment, value in (((3, 4), 5.0), ((1, 2), 7.0)):
            piece = np.full(2, scale * value, np.float32)
            assert liar.falsify(piece, replay, segment).tolist() == [value, value]


@pytest.mark.parametrize("by", [0.0, float("nan"), float("inf"), 1e7])
def test_a_strength_without_sense_is_refused(by: float) -> None:
    with pytest.raises(ValueError, match="write a number up to 1,000,000 that is not 0"):
        setting("scale", by)


class Recording:
    """An encoder that keeps the gradients."""

    def __init__(self) -> None:
        self.given: list[tuple[Segment | None, list[float]]] = []

    def encode(self, *given: object) -> Frames:
        *segment, gradient = given
        assert isinstance(gradient, np.ndarray)
        self.given.append((segment[0] if segment else None, gradient.tolist()))  # type: ignore[arg-type]
        return [b""]


def test_encoders_are_given_the_lie_while_the_device_lies() -> None:
    force: dict[str, Setting] = {}
    whole, pieces = Recording(), Recording()
    honest = np.ones(2, np.float32)
    lying = FalsifyingEncoder(whole, falsifier(), lambda: force)
    by_segment = FalsifyingEncoder(pieces, falsifier(), lambda: force)
    for held in ({}, {"falsify": setting("sign-flip")}, {}):
        force.clear()
        force.update(held)
        lying.encode(honest)
        by_segment.encode((1, 2), honest)
    assert whole.given == [(None, [1, 1]), (None, [-1, -1]), (None, [1, 1])]
    assert pieces.given == [((1, 2), [1, 1]), ((1, 2), [-1, -1]), ((1, 2), [1, 1])]
