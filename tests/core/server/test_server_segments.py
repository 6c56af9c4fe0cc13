"""Models and updates in segments: the bits of whole ones, and half updates are forgotten."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.codecs import Dense, SignSGD, StatelessEncoder, TopK
from emulator.core import wire
from emulator.core.wire.messages import (
    Bye,
    Diverged,
    Hello,
    ModelSegment,
    Patch,
    PatchSegment,
    Update,
    UpdateSegment,
)
from emulator.core.zmtp import Form
from emulator.errors import WireError
from emulator.layout import Layout, Variable
from emulator.pulls import Delta, HeldModel, WholeModel
from emulator.synchronization import Barrier
from emulator.units import Fraction, Seconds
from emulator.world.stop_conditions import Stop
from tests.fakes.core.server_world import World

LAYOUT = Layout(
    tuple(
        Variable(f"v{number}", (size,), kind, layer)
        for number, (size, kind, layer) in enumerate(
            [(12, "conv", 0), (3, "bias", 0), (20, "conv", 2), (7, "dense", 3), (30, "dense", 5)]
        )
    )
)
"""Four layers, whose numbers are not consecutive and of which the first has two variables."""

L = 4
LAYERS = ((1, 1), (2, 2), (3, 3), (4, 4))
GRADIENT = np.random.default_rng(5).normal(size=LAYOUT.size).astype(np.float32)
CODECS = {"dense": Dense(), "topk": TopK(keep=Fraction(0.2)), "signs": SignSGD()}


@st.composite
def layouts(draw):
    """Draw a layout of up to seven layers, of one to three variables each."""
    layers = draw(st.lists(st.lists(st.integers(1, 40), min_size=1, max_size=3), max_size=7))
    return Layout(
        tuple(
            Variable(f"v{layer}-{number}", (size,), "dense", layer)
            for layer, sizes in enumerate(layers or [[5]])
            for number, size in enumerate(sizes)
        )
    )


def cut(layers, bits):
    """Return the segments of `layers` layers, cut behind layer l where bit l of `bits` is set."""
    ends = [layer for layer in range(1, layers) if bits >> layer & 1] + [layers]
    return tuple(zip([1, *(end + 1 for end in ends[:-1])], ends, strict=True))


def started(**options):
    world = World(layout=LAYOUT, **options)
    world.begin()
    return world


def push(world, node, version, segments, gradient=GRADIENT, now=110.0):
    for segment in segments[::-1]:
        replies = world.piece(node, version, segment, gradient, now=now)
    return replies


# -- laws ------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
@settings(max_examples=60, deadline=None)
@given(
    layout=layouts(),
    pulled=st.integers(0, 255),
    pushed=st.integers(0, 255),
    seed=st.integers(0, 1000),
)
def test_any_cuts_give_the_model_and_the_update_of_the_whole(codec, layout, pulled, pushed, seed):
    layers, dice = len(layout.layers), np.random.default_rng(seed)
    pieces, whole = World(layout=layout, codec=codec), World(layout=layout, codec=codec)
    for world in (pieces, whole):
        world.begin()
    for version in range(3):
        gradient = dice.normal(size=layout.size).astype(np.float32)
        ((_, model),) = whole.pull("a")
        replies = [reply for _, reply in pieces.pull("a", segments=cut(layers, pulled))]
        assert [reply.segment for reply in replies] == list(cut(layers, pulled))
        assert {(reply.ticket, reply.version) for reply in replies} == {(version + 1, version)}
        assert np.concatenate([reply.theta for reply in replies]).tobytes() == model.theta.tobytes()
        frames = StatelessEncoder(codec, layout).encode(gradient)
        whole.server.receive(Update("a", version, 0.5, 0.01, frames), 110.0)
        push(pieces, "a", version, cut(layers, pushed), gradient)
        assert pieces.server.version == whole.server.version == version + 1
        theta = whole.server.parameters.theta
        assert pieces.server.parameters.theta.tobytes() == theta.tobytes()
    records = [record["entries"] for record in whole.said("update")]
    assert [record["entries"] for record in pieces.said("update")] == records


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
@pytest.mark.parametrize("encrypted", [False, True])
def test_the_bytes_counted_are_the_bytes_packed(codec, encrypted):
    world = started(codec=codec, form=Form(encrypted))
    replies = world.pull("a", segments=((1, 2), (3, 4)))
    sizes = []
    for segment in LAYERS[::-1]:
        part, place = LAYOUT.part(segment), LAYOUT.place(segment)
        frames = StatelessEncoder(codec, part).encode(GRADIENT[place])
        piece = UpdateSegment("a", 0, world.ticket, segment, 0.5, 0.01, frames)
        sizes.append(wire.size(piece, Form(encrypted)))
        world.server.receive(piece, 110.0)
    (pull,), (update,) = world.said("pull"), world.said("update")
    assert pull["bytes"] == sum(wire.size(reply, Form(encrypted)) for _, reply in replies)
    assert sum(update[kind] for kind in ("values", "indices", "headers", "framing")) == sum(sizes)
    assert (pull["segments"], update["segments"]) == (2, 4)


def test_whole_models_and_updates_have_the_records_that_they_had():
    world = started()
    world.pull("a")
    frames = StatelessEncoder(Dense(), LAYOUT).encode(GRADIENT)
    world.server.receive(Update("a", 0, 0.5, 0.01, frames), 110.0)
    assert "segments" not in world.said("pull")[0] and "segments" not in world.said("update")[0]


def test_the_pieces_of_a_pull_are_of_one_version_whatever_others_push():
    world = started()
    replies = [reply for _, reply in world.pull("a", segments=LAYERS)]
    world.pull("b")
    world.server.receive(Update("b", 0, 0.5, 0.01, (GRADIENT.tobytes(),)), 110.0)
    assert {reply.version for reply in replies} == {0}
    assert all((reply.theta == 0).all() and not reply.theta.flags.writeable for reply in replies)


def test_an_answer_tells_when_the_last_update_arrived():
    world = started()
    first, *others = [reply for _, reply in world.pull("a", now=111.0, segments=LAYERS)]
    assert first.times.answered == 111.0
    assert first.times.arrived == () and {reply.times for reply in others} == {None}
    for segment, now in (((3, 4), 112.0), ((2, 2), 113.5), ((1, 1), 114.0)):
        world.piece("a", 0, segment, GRADIENT, now=now)
    ((_, second), *_) = world.pull("a", now=115.0, segments=LAYERS)
    assert (second.times.answered, second.times.arrived) == (115.0, (112.0, 113.5, 114.0))
    world.server.receive(Update("a", 1, 0.5, 0.01, (GRADIENT.tobytes(),)), 116.0)
    ((_, third), *_) = world.pull("a", now=117.0, segments=((1, L),))
    assert third.times.arrived == (116.0,)
    ((_, fourth),) = world.pull("a", now=118.0, segments=((1, L),))
    assert fourth.times.arrived == ()  # told already


# -- synchronization -------------------------------------------------------------------------------


def test_a_barrier_waits_for_the_last_piece():
    world = started(synchronization=Barrier(patience=Seconds(20)))
    for name in "abc":
        world.pull(name, segments=LAYERS)
    tickets = {"a": 1, "b": 2, "c": 3}
    for name in "ab":
        for segment in LAYERS[::-1]:
            world.piece(name, 0, segment, GRADIENT, tickets[name])
        assert world.pull(name, segments=LAYERS) == []
    for segment in LAYERS[:0:-1]:
        assert world.piece("c", 0, segment, GRADIENT, 3) == []
    assert world.server.version == 0
    replies = world.piece("c", 0, (1, 1), GRADIENT, 3)
    assert world.server.version == 3
    assert [(node, reply.segment) for node, reply in replies] == [
        (node, segment) for node in "ab" for segment in LAYERS
    ]
    assert replies[0][1].times.arrived == (110.0,) * 4


def test_a_barrier_gives_up_a_device_that_dies_between_two_pieces():
    world = started(synchronization=Barrier(patience=Seconds(20)))
    world.pull("a", segments=LAYERS)
    for segment in LAYERS[:0:-1]:
        world.piece("a", 0, segment, GRADIENT)
    world.pull("b")
    world.server.receive(Update("b", 0, 0.5, 0.01, (GRADIENT.tobytes(),)), 110.0)
    world.server.tick(world.server.deadline())
    assert world.server.version == 1
    assert world.server.parameters.theta.tobytes() == (np.float32(-0.5) * GRADIENT).tobytes()


# -- ends of half updates --------------------------------------------------------------------------


@pytest.mark.parametrize("arrived", [1, 2, 3])
@pytest.mark.parametrize("end", ["hello", "pull", "whole pull", "diverged", "whole update"])
def test_a_half_update_is_forgotten(end, arrived):
    world = started()
    world.pull("a", segments=LAYERS)
    ticket = world.ticket
    for segment in LAYERS[: -1 - arrived : -1]:
        world.piece("a", 0, segment, GRADIENT)
    match end:
        case "hello":
            world.server.receive(Hello("a", 1), 120.0)
        case "pull":
            ((_, reply), *_) = world.pull("a", segments=LAYERS)
            assert reply.times.arrived == ()  # these would be no update's
        case "whole pull":
            world.pull("a")
        case "diverged":
            world.server.receive(Diverged("a", 0), 120.0)
        case "whole update":
            world.server.receive(Update("a", 0, 0.5, 0.01, (GRADIENT.tobytes(),)), 120.0)
    assert staged(world) == 0
    for segment in LAYERS[-1 - arrived :: -1]:  # the rest of it
        with pytest.raises(WireError):
            world.piece("a", 0, segment, GRADIENT, ticket)
    assert world.server.version == (end == "whole update")


def test_pieces_are_forgotten_when_the_run_ends():
    world = started(stop=Stop(updates=1), evaluator=None)
    world.pull("a", segments=LAYERS)
    ticket = world.ticket
    world.piece("a", 0, (4, 4), GRADIENT)
    world.pull("b", segments=((1, L),))
    world.piece("b", 0, (1, L), GRADIENT)
    assert world.server.ended.reason == "updates" and staged(world) == 0
    assert world.piece("a", 0, (1, 3), GRADIENT, ticket) == []
    assert world.server.version == 1 and staged(world) == 0


def staged(world):
    exchanges = world.server._exchanges._staging._exchanges.values()
    return sum(len(exchange.pieces) + len(exchange.decoded) for exchange in exchanges)


# -- lies ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "segments",
    [
        ((1, 3),),
        ((2, 4),),
        ((1, 2), (4, 4)),
        ((1, 2), (2, 4)),
        ((3, 4), (1, 2)),
        ((1, 4), (5, 5)),
        ((1, 5),),
        ((0, 4),),
        ((1, 4), (1, 4)),
        ((1, 2), (4, 3), (4, 4)),
    ],
)
def test_a_pull_asks_for_every_layer_once_and_in_order(segments):
    world = started()
    with pytest.raises(WireError, match="layer"):
        world.pull("a", segments=segments)
    assert len(world.pull("a", segments=LAYERS)) == L


def test_the_evaluator_pulls_whole_models():
    world = started()
    with pytest.raises(WireError, match="cannot pull in segments"):
        world.pull("evaluator", segments=LAYERS)
    with pytest.raises(WireError, match="was last sent version None"):
        world.piece("evaluator", 0, (4, 4), GRADIENT)


DENSE = GRADIENT[LAYOUT.place((3, 3))].tobytes()


@pytest.mark.parametrize(
    ("piece", "complaint", "drops"),
    [
        (("a", 0, 2, (3, 3), DENSE), "for pull 2, but 1", False),
        (("a", 0, 0, (3, 3), DENSE), "for pull 0, but 1", False),
        (("a", 1, 1, (3, 3), DENSE), "cannot know 1", False),
        (("b", 0, 1, (3, 3), DENSE), "was last sent version None", False),
        (("c", 0, 1, (3, 3), DENSE), "for pull 1, but None", False),
        (("mallory", 0, 1, (3, 3), DENSE), "not a member", False),
        (("a", 0, 1, (4, 4), DENSE), "layers 4 to 4, expected layers up to 3", True),
        (("a", 0, 1, (3, 4), DENSE), "layers 3 to 4, expected layers up to 3", True),
        (("a", 0, 1, (1, 2), DENSE), "layers 1 to 2, expected layers up to 3", True),
        (("a", 0, 1, (1, 5), DENSE), "layers 1 to 5, expected layers up to 3", True),
        (("a", 0, 1, (0, 3), DENSE), "layers 0 to 3, expected layers up to 3", True),
        (("a", 0, 1, (3, 3), DENSE + bytes(4)), "bytes", True),
        (("a", 0, 1, (3, 3), DENSE[4:]), "7 parameters", True),
        (("a", 0, 1, (3, 3), b"\0\0\xc0\x7f" * 7), "not finite", True),
    ],
)
def test_a_lie_about_a_piece_is_refused_and_an_honest_update_still_taken(piece, complaint, drops):
    world = started()
    world.pull("a", segments=LAYERS)
    world.pull("c")
    world.ticket = 1
    world.piece("a", 0, (4, 4), GRADIENT)
    node, version, ticket, segment, frame = piece
    with pytest.raises(WireError, match=complaint):
        lie = UpdateSegment(node, version, ticket, segment, 0.5, 0.01, (frame,))
        world.server.receive(lie, 110.0)
    assert world.server.version == 0 and bool(staged(world)) != drops
    honest = LAYERS[::-1] if drops else LAYERS[-2::-1]
    for segment in honest:
        world.piece("a", 0, segment, GRADIENT)
    assert world.server.parameters.theta.tobytes() == (np.float32(-0.5) * GRADIENT).tobytes()


def test_no_piece_is_taken_before_a_pull_or_after_the_last():
    world = started()
    with pytest.raises(WireError, match="was last sent version None"):
        world.piece("a", 0, (4, 4), GRADIENT, 1)
    world.pull("a", segments=LAYERS)
    push(world, "a", 0, LAYERS)
    for segment in LAYERS:
        with pytest.raises(WireError, match="was last sent version None"):
            world.piece("a", 0, segment, GRADIENT)
    assert world.server.version == 1


def test_a_piece_on_a_whole_model_is_refused():
    world = started()
    ((_, reply),) = world.pull("a")
    assert not isinstance(reply, ModelSegment)
    with pytest.raises(WireError, match="None was answered last"):
        world.piece("a", 0, (4, 4), GRADIENT)


# -- pulls that are coded --------------------------------------------------------------------------


@pytest.mark.parametrize("pull", [Delta("f32"), Delta("f16"), WholeModel("f16")], ids=repr)
@pytest.mark.parametrize("segments", [LAYERS, ((1, 2), (3, 4)), ((1, L),)])
def test_coded_pieces_decode_to_the_model_that_a_whole_answer_brings(pull, segments):
    world = started(codec=CODECS["topk"], pulls=pull.start(LAYOUT))
    pieces, whole = HeldModel(pull.values, LAYOUT), HeldModel(pull.values, LAYOUT)
    patches = 0
    for version in range(4):
        ((_, reply),) = world.pull("b", held=whole.version)
        expected = taken(whole, reply)
        for _, reply in world.pull("a", held=pieces.version, segments=segments):
            assert (reply.ticket, reply.version) == (world.ticket, version)
            part = taken(pieces, reply)
            assert part.tobytes() == expected[LAYOUT.place(reply.segment)].tobytes()
            patches += isinstance(reply, PatchSegment) and reply.base is not None
        assert expected.tobytes() == world.server.pulled().tobytes()
        push(world, "a", version, LAYERS, np.roll(GRADIENT, version))
    assert (patches > 0) == isinstance(pull, Delta)


def taken(held, reply):
    match reply:
        case ModelSegment():
            return held.store_segment(reply.version, reply.segment, reply.theta)
        case PatchSegment():
            return held.decode_segment(reply.version, reply.segment, reply.frames, reply.base)
        case Patch():
            return held.decode(reply.version, reply.frames, reply.base)
    return held.store(reply.version, reply.theta)


def test_a_model_in_segments_that_cannot_leave_is_one_record() -> None:
    world = World(layout=LAYOUT)
    world.begin()
    replies = world.pull("a", segments=LAYERS) + world.pull("b", segments=LAYERS)
    rest = world.pull("c", segments=LAYERS)[2:]  # the first two have left
    world.server.unsent([*replies, *rest, ("c", Bye())], 111.0)
    cut, model, bye = "model 0 layers 1-4", sum(wire.size(r) for _, r in replies[:4]), Bye()
    assert [
        (r["node"], r["message"], r["bytes"], r.get("segments", 1)) for r in world.said("unsent")
    ] == [
        *(("a", cut, model, 4), ("b", cut, model, 4)),
        ("c", "model 0 layers 3-4", sum(wire.size(r) for _, r in rest), 2),
        ("c", "bye", wire.size(bye), 1),
    ]
