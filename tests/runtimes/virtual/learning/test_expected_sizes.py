"""Runs without training send pieces of the sizes that a trained run's pieces have."""

from typing import Any

import numpy as np
import pytest

from emulator.codecs import EncoderContext, SegmentEncoder
from emulator.runtimes.virtual.learning.traffic_only import ExpectedSizeCodec
from emulator.vectors import Frames
from tests.benchmarks.codecs.coding import every
from tests.fakes.codecs.segments import LAYERED, cut

CUTS = [cut(LAYERED, after) for after in ([], [2], [1, 2, 3])]


def size(frames: Frames) -> int:
    """Total bytes of `frames`."""
    return sum(map(len, frames))


@pytest.mark.slow
@pytest.mark.parametrize("codec", every(), ids=lambda codec: codec.kind)
def test_pieces_have_the_sizes_of_a_workers(codec: Any) -> None:
    """Within a tenth or 30 entries, where their number is random; together those of one message."""
    expected, draws = ExpectedSizeCodec(codec, LAYERED), np.random.default_rng(3)
    whole = size(expected.frames)
    for segments in CUTS:
        encoder = SegmentEncoder(codec, EncoderContext(LAYERED, np.random.default_rng(4)))
        real: list[Frames] = []
        for _ in range(10):
            gradient = draws.standard_normal(LAYERED.size, np.float32)
            real = [encoder.encode(one, gradient[LAYERED.place(one)]) for one in segments]
        pieces = [expected.segment(segment) for segment in segments]
        for segment, made, sent in zip(segments, pieces, real, strict=True):
            layout = LAYERED.part(segment)
            assert sum(expected.count(made)) == size(made)
            assert size(made) == pytest.approx(size(sent), rel=0.1, abs=150)
            decoded = expected.decode(made, layout)
            assert decoded.indices is None or decoded.indices[-1] < layout.size
        assert sum(map(size, pieces)) == pytest.approx(whole, rel=0.1)


def test_a_piece_is_made_once() -> None:
    expected = ExpectedSizeCodec(every()[0], LAYERED)
    assert expected.segment((2, 3)) is expected.segment((2, 3))
