"""Pulls by segment: a worker holds the old version or the new one, whichever way a pull ends."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from emulator.errors import WireError
from emulator.layout import Segment
from emulator.pulls import AnyPull, Delta, EncodedModel, HeldModel, Pulls, WholeModel
from emulator.pulls.floats import Values
from emulator.vectors import Gradient, Vector
from tests.fakes.codecs.segments import cut, layered
from tests.fakes.tried_examples import tried

LAYOUT = layered(
    [("conv", (5, 5, 4)), ("bias", (4,))],
    [("dense", (21, 7))],
    [("bias", (9,))],
    [("dense", (19, 7)), ("bias", (7,))],
)
SIZE = LAYOUT.size
KINDS: list[AnyPull] = [WholeModel(), WholeModel("f16"), Delta(), Delta("f16")]
CUTS = st.sets(st.integers(1, 3)).map(lambda after: cut(LAYOUT, after)[::-1])


def sparse(indices: Sequence[int]) -> Gradient:
    chosen = np.unique(np.array(indices, np.uint32))
    return Gradient(np.ones(chosen.size, np.float32), chosen)


def take(holder: HeldModel, server: Pulls, theta: Vector, version: int, segment: Segment) -> Vector:
    """Give `holder` the piece that the server answers with, as a driver does."""
    coded = server.answer(theta, holder.version, segment)
    if coded is None:
        return holder.store_segment(version, segment, theta[LAYOUT.place(segment)])
    return holder.decode_segment(version, segment, coded.frames, coded.base)


GRADIENTS = st.lists(st.lists(st.integers(0, SIZE - 1), max_size=40).map(sparse), max_size=3)
STEPS = st.lists(
    st.tuples(GRADIENTS, st.booleans(), CUTS, st.integers(0, 4), st.booleans()), max_size=12
)


@pytest.mark.mostly_slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.kind} {kind.values}")
@tried(quick=15, slow=60, steps=STEPS, seed=st.integers(0, 2**32 - 1))
def test_a_worker_holds_the_old_version_or_the_new_one(
    kind: AnyPull, steps: list[Any], seed: int
) -> None:
    """Pulls with arbitrary cuts; some break off after a piece, some are whole."""
    draws = np.random.default_rng(seed)
    theta = draws.standard_normal(SIZE).astype(np.float32)
    server, holder, version = kind.start(LAYOUT), HeldModel(kind.values, LAYOUT), 0
    known: dict[int, bytes] = {}  # of each version, as workers hold it
    for gradients, everywhere, cuts, pieces, whole in steps:
        theta = theta.copy()
        if everywhere and gradients:
            theta += np.float32(0.5)
        for gradient in gradients:
            theta[gradient.indices] = draws.standard_normal(gradient.values.size) * 10
        version += len(gradients)
        server.changed(gradients, everywhere)
        expected = theta if kind.values == "f32" else theta.astype(np.float16).astype("f4")
        known[version] = expected.tobytes()
        before = holder.version
        if whole:
            came = server.answer(theta, before) or EncodedModel((theta.tobytes(),))
            held = holder.decode(version, came.frames, came.base)
            assert held.tobytes() == known[version]
            continue
        for segment in cuts[:pieces]:
            part = take(holder, server, theta, version, segment)
            assert part.tobytes() == expected[LAYOUT.place(segment)].tobytes()
        assert holder.version == (version if pieces >= len(cuts) else before)
        if holder.version is not None:
            assert holder._theta is not None
            assert holder._theta.tobytes() == known[holder.version]


@pytest.mark.parametrize("values", ["f32", "f16"])
@tried(
    quick=15,
    slow=60,
    changed=st.lists(st.integers(0, SIZE - 1), max_size=SIZE).map(sparse),
    cuts=CUTS,
)
def test_all_pieces_are_patches_or_none_is(
    values: Values, changed: Gradient, cuts: list[Segment]
) -> None:
    """As the whole model would be, though a patch of one layer alone may be larger than it is."""
    server, theta = Delta(values).start(LAYOUT), np.ones(SIZE, np.float32)
    server.changed([changed], False)
    whole = server.answer(theta, 0)
    pieces = [server.answer(theta, 0, segment) for segment in cuts]
    assert {piece and piece.base for piece in pieces} == {whole and whole.base}
    if whole is None or whole.base is None:
        return
    coded = [piece for piece in pieces if piece is not None]
    assert b"".join(piece.frames[1] for piece in coded) == whole.frames[1]


@pytest.mark.parametrize("values", ["f32", "f16"])
def test_a_piece_is_made_once_for_all_and_stays_as_it_was_made(values: Values) -> None:
    server, theta = Delta(values).start(LAYOUT), np.arange(SIZE, dtype=np.float32)
    server.changed([sparse([7, 120])], False)
    piece = server.answer(theta, 0, (2, 3))
    theta[:] = -1
    assert piece is not None and server.answer(theta, 0, (2, 3)) is piece
    holder = HeldModel(values, LAYOUT)
    holder.store(0, np.zeros(SIZE, np.float32))
    holder.decode_segment(1, (1, 1), server.answer(theta, 0, (1, 1)).frames, 0)  # type: ignore[union-attr]
    part = holder.decode_segment(1, (2, 3), piece.frames, piece.base)
    assert np.flatnonzero(part).tolist() == [120 - 104] and part.max() == 120
    server.changed([sparse([1])], False)
    assert server.answer(theta, 0, (2, 3)) is not piece


@pytest.mark.slow
def test_answers_kept_for_whatever_a_member_claims_are_bounded() -> None:
    server, theta = Delta().start(LAYOUT), np.ones(SIZE, np.float32)
    for number in range(300):
        server.changed([sparse([number % SIZE])], False)
    segments = [(first, last) for first in range(1, 5) for last in range(first, 5)]
    for held in range(300):
        for segment in segments:
            piece = server.answer(theta, held, segment)
            assert piece is not None and piece.base == held
        assert server._kept <= 16 * 4 * SIZE  # type: ignore[attr-defined]
        kept = [*server._patches.values(), *server._pieces.values()]  # type: ignore[attr-defined]
        assert len(kept) <= 16 * 4 * SIZE / 256
    assert len(server._pieces) > 10  # type: ignore[attr-defined]


def test_half_precision_lends_the_bytes_of_a_segment() -> None:
    server, theta = WholeModel("f16").start(LAYOUT), np.arange(SIZE, dtype=np.float32)
    whole, piece = server.answer(theta, None), server.answer(theta, None, (2, 3))
    assert whole is not None and piece is not None
    assert bytes(piece.frames[0]) == bytes(whole.frames[0])[2 * 104 : 2 * 260]
    assert piece.frames[0].obj is whole.frames[0]  # type: ignore[union-attr]


ONES = np.ones(SIZE, np.float32)


@pytest.mark.parametrize(
    ("version", "segment", "frames", "base", "match"),
    [
        (1, (3, 4), (b"",), None, "layers 3 to 4 of version 1, expected layer 2 of version 1"),
        (1, (2, 5), (b"",), None, "layers 2 to 5 of version 1, expected layer 2 of version 1"),
        (1, (2, 1), (b"",), None, "layers 2 to 1 of version 1"),
        (1, (0, 1), (b"",), None, "layers 0 to 1 of version 1"),
        (2, (2, 2), (b"",), None, "layers 2 to 2 of version 2, expected layer 2 of version 1"),
        (1, (2, 2), (b"1234567",), None, "7 bytes of parameters, expected 588"),
        (1, (2, 2), (b"", b""), None, "parameters in 2 frames, expected 1"),
        (1, (2, 2), (b"",), 0, "a patch of 1 frames, expected 2"),
        (1, (2, 2), (b"", b""), 3, "a patch to version 3, but 0 is held"),
        (1, (2, 2), (b"", b"123"), 0, "3 bytes of 147 parameters at most"),
        (1, (2, 2), (b"", b"1" * 592), 0, "592 bytes of 147 parameters at most"),
        (1, (2, 2), (b"\x05\x93\0\0\0", b"1234"), 0, "index 147 of 147 parameters"),
    ],
)
def test_a_piece_out_of_place_is_refused_and_the_model_stays(
    version: int, segment: Segment, frames: tuple[bytes, ...], base: int | None, match: str
) -> None:
    holder = HeldModel("f32", LAYOUT)
    held = holder.store(0, ONES)
    holder.store_segment(1, (1, 1), np.zeros(104, np.float32))
    with pytest.raises(WireError, match=match):
        holder.decode_segment(version, segment, frames, base)
    assert (holder.version, held.sum()) == (0, SIZE)
    # and the pieces before it are dropped: the rest of the pull is no model
    with pytest.raises(WireError, match="expected layer 1 of version None"):
        holder.store_segment(1, (2, 4), np.zeros(SIZE - 104, np.float32))
    assert (holder.version, held.sum()) == (0, SIZE)


def test_a_piece_of_another_size_is_refused() -> None:
    holder = HeldModel("f32", LAYOUT)
    with pytest.raises(WireError, match=r"3 parameters in layers \(1, 2\), expected 251"):
        holder.store_segment(1, (1, 2), np.zeros(3, np.float32))
    assert holder.version is None


def test_a_whole_model_ends_a_pull_in_pieces_and_so_does_forgetting() -> None:
    holder = HeldModel("f32", LAYOUT)
    holder.store_segment(1, (1, 2), ONES[:251])
    holder.store(2, ONES)
    with pytest.raises(WireError, match="layers 3 to 4 of version 1"):
        holder.store_segment(1, (3, 4), ONES[251:])
    assert holder.version == 2
    holder.store_segment(3, (1, 2), ONES[:251])
    holder.forget()
    with pytest.raises(WireError, match="layers 3 to 4 of version 3"):
        holder.store_segment(3, (3, 4), ONES[251:])
    assert holder.version is None


def test_a_piece_stays_as_it_is_while_the_next_model_comes() -> None:
    """A device computes on pieces while the next pull may begin."""
    holder = HeldModel("f32", LAYOUT)
    pieces = [holder.store_segment(1, segment, ONES[LAYOUT.place(segment)]) for segment in HALVES]
    for segment in HALVES:
        holder.store_segment(2, segment, 2 * ONES[LAYOUT.place(segment)])
    assert all((piece == 1).all() for piece in pieces)


HALVES: list[Segment] = [(1, 2), (3, 4)]


@pytest.mark.mostly_slow
@pytest.mark.parametrize("kind", KINDS[1:], ids=lambda kind: f"{kind.kind} {kind.values}")
@tried(quick=40, slow=150, data=st.data())
def test_mutated_pieces_are_refused_or_have_the_size_of_their_segment(
    kind: AnyPull, data: st.DataObject
) -> None:
    server, holder = kind.start(LAYOUT), HeldModel(kind.values, LAYOUT)
    holder.store(0, ONES)
    server.changed([sparse(range(0, SIZE, 9))], False)
    cuts = data.draw(CUTS)
    spoilt = data.draw(st.integers(0, len(cuts) - 1))
    for number, segment in enumerate(cuts):
        coded = server.answer(2 * ONES, 0, segment)
        frames = [bytearray(frame) for frame in coded.frames] if coded else [bytearray(7)]
        base = coded.base if coded else None
        if number == spoilt:
            frame = data.draw(st.sampled_from(frames))
            at = data.draw(st.integers(0, len(frame)))
            frame[at : at + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=5))
            base = data.draw(st.sampled_from([base, base, None, 0, 1]))
        try:
            part = holder.decode_segment(1, segment, [bytes(frame) for frame in frames], base)
        except WireError:
            assert holder.version == 0 and holder._theta is not None
            assert holder._theta.tobytes() == ONES.tobytes()
            return
        assert part.size == LAYOUT.part(segment).size
    assert holder.version == 1
