"""Chen's AdaComp by hand: what a bin sends, what stays behind, and the paper's own accounting."""

import struct
from typing import Any

import numpy as np
import pytest

from emulator.codecs import AdaCompResidual
from emulator.errors import WireError
from emulator.layout import Layout
from emulator.vectors import Gradient, Vector
from tests.fakes.codecs.codec_table import layout, place, spread

F = np.float32
SHAPE = layout(("dense", (4,)), ("bias", (1,)))


def worker(codec: AdaCompResidual, shape: Layout) -> Any:
    return codec.start(place(shape))


def sent(codec: AdaCompResidual, held: Any, shape: Layout, gradient: list[float]) -> list[float]:
    frames = held.encode(np.array(gradient, F))
    result: list[float] = spread(codec.decode(frames, shape), shape.size).tolist()
    return result


def test_three_steps_by_hand() -> None:
    codec = AdaCompResidual(dense=2)
    held = worker(codec, SHAPE)
    # G = gradient, H = 2 G; bins' largest 1 and 1/4, so S = 5/8; a bias goes as it is
    assert sent(codec, held, SHAPE, [1, -0.25, 0, 0.25, 3]) == [0.625, 0, 0, 0.625, 3]
    assert held.residual.tolist() == [0.375, -0.25, 0, -0.375, 0]
    # G = 1/8, -3/4 | 1/4, 0 and H = -1/8, -5/4 | 1/2, 3/8: the last one reaches 1/4, yet G is 0
    assert sent(codec, held, SHAPE, [-0.25, -0.5, 0.25, 0.375, 0]) == [0, -0.5, 0.5, 0, 0]
    assert held.residual.tolist() == [0.125, -0.25, -0.25, 0, 0]
    # the gradient opposes the residual: H is zero everywhere, and nothing is sent
    assert sent(codec, held, SHAPE, [-0.0625, 0.125, 0.125, 0, -1]) == [0, 0, 0, 0, -1]
    assert held.residual.tolist() == [0.0625, -0.125, -0.125, 0, 0]


def test_the_frames_by_hand() -> None:
    codec = AdaCompResidual(dense=2, indices="u32")
    frames = worker(codec, SHAPE).encode(np.array([1, -0.25, 0, -0.25, 3], F))
    # two entries, the second below zero, and a bit for the end; the scale; the bias
    assert [bytes(frame) for frame in frames] == [
        struct.pack("<2I", 0, 3),
        bytes([0b110]),
        struct.pack("<f", 0.625),
        struct.pack("<f", 3),
    ]
    assert codec.count(frames) == (1 + 4, 8, 4)


def test_the_last_bin_may_be_short() -> None:
    codec, shape = AdaCompResidual(conv=3), layout(("conv", (5,)))
    result = sent(codec, worker(codec, shape), shape, [0.5, 1, 0.25, -2, 0])
    assert result == [1.5, 1.5, 0, -1.5, 0]  # the mean of 1 and 2, of which both count alike


def test_a_larger_factor_sends_more() -> None:
    shape = layout(("dense", (5000,)))
    gradients = np.random.default_rng(0).standard_normal((20, 5000))
    entries = []
    for factor in (1.0, 1.5, 2.0, 3.0):
        codec = AdaCompResidual(factor=factor)
        held = worker(codec, shape)
        entries.append(
            sum(codec.decode(held.encode(g.astype(F)), shape).values.size for g in gradients)
        )
    assert entries[0] == 10 * 20  # LS: the largest of each bin
    assert entries == sorted(set(entries))


def test_zeros_are_never_sent() -> None:
    """As of units that are dead: the bins of a published version send themselves whole."""
    codec, shape = AdaCompResidual(), layout(("conv", (200,)), ("dense", (1000,)))
    held = worker(codec, shape)
    assert sent(codec, held, shape, [0] * 1200) == [0] * 1200
    some = np.zeros(1200)
    some[100] = -4
    assert np.flatnonzero(sent(codec, held, shape, some.tolist())).tolist() == [100]


def test_a_model_of_biases_only() -> None:
    codec, shape = AdaCompResidual(), layout(("bias", (2,)), ("bias", (1,)))
    assert sent(codec, worker(codec, shape), shape, [1, 0, -3]) == [1, 0, -3]


def test_no_bias_among_the_others() -> None:
    codec = AdaCompResidual(indices="u32")
    frames = [struct.pack("<I", 4), bytes([2]), struct.pack("<f", 1), struct.pack("<f", 0)]
    with pytest.raises(WireError, match="1 entries of v1, expected at most 0"):
        codec.decode(frames, SHAPE)


@pytest.mark.parametrize(
    ("codec", "bits"),
    [(AdaCompResidual(), 8), (AdaCompResidual(conv=64), 8), (AdaCompResidual(conv=65), 16)],
)
def test_the_papers_accounting(codec: AdaCompResidual, bits: int) -> None:
    """Section 3.3: 8 bits an entry where an index takes 6, else 16; a bias is a float32."""
    shape = layout(("conv", (10,)), ("bias", (2,)), ("dense", (10,)), ("recurrent", (10,)))
    chosen = np.array([0, 9, 10, 11, 12, 13, 14, 31], np.uint32)
    paper = codec.paper(Gradient(np.ones(8, F), chosen), shape)
    assert paper == {"conv": 2 * bits / 8, "bias": 8, "dense": 6, "recurrent": 2}


@pytest.mark.parametrize(
    "description",
    [{"conv": 0}, {"dense": 20_000}, {"factor": 0.5}, {"factor": float("nan")}, {"indices": "u33"}],
)
def test_what_makes_no_sense_is_refused(description: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        AdaCompResidual(**description)


def test_a_huge_gradient_is_quantized_like_any() -> None:
    shape = layout(("dense", (4,)))
    codec = AdaCompResidual(dense=2)
    held = worker(codec, shape)
    huge: Vector = np.array([3e38, -3e38, 3e38, 1], F)
    assert sent(codec, held, shape, huge.tolist()) == [F(3e38), -F(3e38), F(3e38), 0]
