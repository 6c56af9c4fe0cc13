"""Updates in pieces, from the worker's encoder to the server's model, for every codec."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from emulator.codecs import Dense, SegmentEncoder, TopK, encoder, refusal, uncuttable
from emulator.core import wire
from emulator.core.wire.messages import Update, UpdateSegment
from emulator.errors import WireError
from emulator.units import Fraction
from emulator.vectors import Vector
from tests.fakes.codecs.codec_table import Row, place, rows, spread
from tests.fakes.codecs.segments import LAYERED, cut
from tests.fakes.core.server_world import World

RANDOM = ("qsgd", "terngrad", "randomk")
MORE = [pytest.param(Row(Dense()), id="dense"), pytest.param(Row(TopK(Fraction(0.1))), id="topk")]
CUTTABLE = [*MORE, *rows(lambda row: not uncuttable(row.codec))]
CUTS = [cut(LAYERED, after) for after in ([], [1, 2, 3], [2], [1, 3], [3])]
"""Of one worker's updates; a memory has to survive each change."""


def whole_rows() -> Iterator[Any]:
    """Codecs without draws, which depend on the cuts; with error feedback around them or not."""
    for param in CUTTABLE:
        (row,) = param.values
        if row.codec.kind not in RANDOM:
            yield pytest.param(row, False, id=param.id)
            if not refusal(row.codec):
                yield pytest.param(row, True, id=f"{param.id}-feedback")


def gradients() -> Iterator[Vector]:
    dice = np.random.default_rng(7)
    for _ in CUTS:
        yield dice.standard_t(2, LAYERED.size).astype(np.float32)


@pytest.mark.parametrize(("row", "feedback"), list(whole_rows()))
def test_the_model_is_that_of_whole_updates_to_the_bit(row: Row, feedback: bool) -> None:
    """Of a single device; `divisor` and all else of the record are those of the whole update."""
    whole, pieces = begun(row.codec), begun(row.codec)
    one = encoder(row.codec, place(LAYERED), feedback)
    many = SegmentEncoder(row.codec, place(LAYERED), feedback)
    for version, (gradient, segments) in enumerate(zip(gradients(), CUTS, strict=True)):
        whole.pull("a")
        whole.server.receive(Update("a", version, 0.5, 0.01, one.encode(gradient)), 110.0)
        pieces.pull("a", segments=tuple(segments[::-1]))
        assert pieces.server.version == version
        for piece in pushed(many, version, pieces.ticket, segments, gradient):
            pieces.server.receive(piece, 110.0)
        theta = whole.server.parameters.theta
        assert np.isfinite(theta).all() and np.any(theta)
        assert pieces.server.parameters.theta.tobytes() == theta.tobytes()
    sizes = ("values", "indices", "headers", "framing", "paper", "segments")
    for some, record in zip(pieces.said("update"), whole.said("update"), strict=True):
        for key in record.keys() - sizes:
            assert some[key] == record[key], key


@pytest.mark.parametrize("row", CUTTABLE)
def test_pieces_that_went_over_the_wire_are_counted_to_the_byte(row: Row) -> None:
    world, many = begun(row.codec), SegmentEncoder(row.codec, place(LAYERED))
    expected = np.zeros(LAYERED.size, np.float32)
    for version, (gradient, segments) in enumerate(zip(gradients(), CUTS, strict=True)):
        world.pull("a", segments=tuple(segments[::-1]))
        size = 0
        for piece in pushed(many, version, world.ticket, segments, gradient):
            frames = [bytes(frame) for frame in wire.pack(piece)]
            size += wire.size(piece)
            world.server.receive(wire.unpack(frames), 110.0)
            layout = LAYERED.part(piece.segment)
            sent = spread(row.codec.decode(piece.frames, layout), layout.size)
            expected[LAYERED.place(piece.segment)] -= np.float32(0.5) * sent
        record = world.said("update")[-1]
        assert sum(record[key] for key in ("values", "indices", "headers", "framing")) == size
        assert record.get("segments", 1) == len(segments)
        assert world.server.parameters.theta.tobytes() == expected.tobytes()


@pytest.mark.parametrize("row", CUTTABLE)
def test_a_piece_never_passes_for_other_layers(row: Row) -> None:
    """The frames of layers 3 and 4 are no gradient of layer 4 alone, of 21,248 parameters."""
    many, world = SegmentEncoder(row.codec, place(LAYERED)), begun(row.codec)
    world.pull("a", segments=((1, 4),))
    gradient = next(gradients())
    (piece, *_) = pushed(many, 0, world.ticket, [(3, 4), (1, 2)], gradient)
    lie = UpdateSegment("a", 0, world.ticket, (4, 4), 0.5, 0.01, piece.frames)
    with pytest.raises(WireError):
        world.server.receive(lie, 110.0)
    assert world.server.version == 0


def begun(codec: Any) -> World:
    world = World(layout=LAYERED, codec=codec)
    world.begin()
    return world


def pushed(
    held: SegmentEncoder, version: int, ticket: int, segments: list[Any], gradient: Any
) -> list[UpdateSegment]:
    """Return the pieces of an update."""
    return [
        UpdateSegment(
            "a",
            version,
            ticket,
            segment,
            0.5,
            0.01,
            held.encode(segment, gradient[LAYERED.place(segment)]),
        )
        for segment in segments
    ]
