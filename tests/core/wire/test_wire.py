"""Messages as bytes: they come back as they were, and nothing else gets in."""

import contextlib
import dataclasses
import random
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.codecs.base import ByteCount
from emulator.core import wire
from emulator.core.wire.messages import (
    ActivationGradient,
    Activations,
    Again,
    Begin,
    Bye,
    Diverged,
    Hello,
    Leave,
    LogitGradient,
    Logits,
    ModelReply,
    ModelSegment,
    Patch,
    PatchSegment,
    Pull,
    Score,
    Times,
    Update,
    UpdateSegment,
)
from emulator.core.zmtp import Form, framing
from emulator.errors import WireError
from tests.fakes.core.mutated_frames import mutate

MESSAGES = [
    Hello("adsl-0", 3),
    Begin(123.456),
    Pull("adsl-0", (2 << 32) + 7, 200),
    ModelReply(9, 41, np.linspace(-1, 1, 300, dtype=np.float32)),
    Update("adsl-0", 41, 0.25, 0.003, (b"", b"\x01\x02", b"abcdefgh")),
    Update("adsl-0", 41, float("nan"), 0.003, (b"x" * 300,)),
    Diverged("adsl-0", 12),
    Score("evaluator", 200, 0.97, 0.1),
    Bye(),
    Patch(9, 41, 40, (b"abc", b"defg")),
    Pull("adsl-0", 7, 0, 41, ((1, 2), (3, 3), (4, 152))),
    ModelSegment(9, 41, (3, 7), np.linspace(-1, 1, 300, dtype=np.float32)),
    ModelSegment(9, 41, (1, 2), np.ones(3, np.float32), Times(12.5, (11.25, 11.5))),
    PatchSegment(9, 41, (1, 1), 40, (b"abc", b"defg"), Times(12.5, ())),
    PatchSegment(9, 41, (2, 3), None, (b"abcd",)),
    UpdateSegment("adsl-0", 41, 7, (3, 7), 0.25, 0.003, (b"", b"\x01\x02", b"abcdefgh")),
    Activations("adsl-0", 41, 7, 3, bytes(range(24)), bytes(12)),
    Activations("adsl-0", 41, (2 << 32) + 7, 2, b"abcdefgh"),
    ActivationGradient(7, 0.25, b"abcdef"),
    Logits(7, b"abcdefgh"),
    LogitGradient("adsl-0", 7, float("nan"), b"abcd"),
    ActivationGradient(7, 0.25, b""),
    Leave("adsl-0"),
    Score("evaluator", 200, None, 0.1, 1.5),
]

OLD_HEADS = [
    (MESSAGES[0], "9300a66164736c2d3003"),
    (MESSAGES[1], "9201cb405edd2f1a9fbe77"),
    (MESSAGES[2], "9502a66164736c2d30cf0000000200000007ccc8c0"),
    (Pull("adsl-0", 7, 0, 41), "9502a66164736c2d30070029"),
    (MESSAGES[3], "93030929"),
    (MESSAGES[4], "9504a66164736c2d3029cb3fd0000000000000cb3f689374bc6a7efa"),
    (MESSAGES[6], "9305a66164736c2d300c"),
    (MESSAGES[7], "9506a96576616c7561746f72ccc8cb3fef0a3d70a3d70acb3fb999999999999a"),
    (MESSAGES[8], "9107"),
    (Patch(9, 41, 40, (b"a", b"b")), "9408092928"),
    (Patch(9, 41, None, (b"a",)), "94080929c0"),
]
"""Heads of messages that hold the whole model or update, as they have always been."""


CUT_HEADS = [
    (MESSAGES[16], "950da66164736c2d30290703"),
    (MESSAGES[17], "950da66164736c2d3029cf000000020000000702"),
    (MESSAGES[18], "930e07cb3fd0000000000000"),
    (MESSAGES[19], "920f07"),
    (MESSAGES[20], "9410a66164736c2d3007cb7ff8000000000000"),
]
"""Heads of messages of models that are cut between devices and server."""


def fields(message):
    values = {f.name: getattr(message, f.name) for f in dataclasses.fields(message)}
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            values[name] = value.tolist()
        elif name == "frames":
            values[name] = [bytes(frame) for frame in value]
        elif isinstance(value, Times):
            values[name] = fields(value)
        elif value != value:
            values[name] = "nan"
    return values


@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: type(m).__name__)
def test_every_message_comes_back_as_it_was(message):
    frames = [bytes(frame) for frame in wire.pack(message)]
    back = wire.unpack(frames)
    assert type(back) is type(message)
    assert len(frames[0]) == len(wire.pack(back)[0])
    assert fields(back) == fields(message)


@pytest.mark.parametrize(("message", "head"), OLD_HEADS, ids=lambda part: type(part).__name__)
def test_what_is_whole_keeps_its_bytes(message, head):
    assert bytes(wire.pack(message)[0]).hex() == head


@pytest.mark.parametrize(("message", "head"), CUT_HEADS, ids=lambda part: type(part).__name__)
def test_messages_of_cut_models_have_these_heads_and_arrays_as_they_lie(message, head):
    packed, *arrays = map(bytes, wire.pack(message))
    assert packed.hex() == head
    first = getattr(message, "activations", getattr(message, "gradient", None))
    assert arrays[0] == (first or message.logits)
    assert arrays[1:] == [labels for labels in [getattr(message, "labels", None)] if labels]


@pytest.mark.parametrize("cut", [((2, 3),), ((1, 2), (4, 5)), ((1, 2), (2, 3)), ((1, 2), (3, 2))])
def test_segments_that_do_not_follow_one_another_are_not_sent(cut):
    with pytest.raises(ValueError, match="do not follow one another"):
        wire.pack(Pull("a", 0, segments=cut))


def test_a_list_longer_than_any_model_has_layers_costs_no_memory():
    """The claimed length is checked before a list is made."""
    long = b"\xdd\xff\xff\xff\xff"
    pull = bytes(wire.pack(Pull("a", 1, 0, 3, ((1, 2),)))[0])
    segment = bytes(wire.pack(ModelSegment(1, 1, (1, 1), np.ones(1, "f4"), Times(1.0, ())))[0])
    assert pull.endswith(b"\x91\x02") and segment.endswith(b"\x90")
    tracemalloc.start()
    for head, kept in ((pull, -2), (segment, -1)):
        with pytest.raises(WireError, match="length"):
            wire.unpack([head[:kept] + long, bytes(4)])
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_a_model_is_packed_without_a_copy():
    theta = np.zeros(10, np.float32)
    _, body = wire.pack(ModelReply(0, 0, theta))
    theta[3] = 7
    assert np.frombuffer(body, np.float32)[3] == 7


def segment_of(segment, times=None):
    return ModelSegment(0, 0, segment, np.ones(1, np.float32), times)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: type(m).__name__)
def test_size_is_the_frames_and_their_framing(message):
    lengths = [len(bytes(frame)) for frame in wire.pack(message)]
    expected = sum(lengths) + sum(2 if n <= 255 else 9 for n in lengths)
    assert wire.size(message) == expected
    assert wire.size(message, Form(encrypted=True)) >= expected + 33 * len(lengths)


EDGES = [
    edge + step for bits in (0, 5, 7, 8, 16, 32, 40) for edge in (1 << bits,) for step in (-1, 0)
]
NATURAL = st.one_of(st.sampled_from(EDGES), st.integers(0, 2**62 - 1))
NAME = st.one_of(
    st.sampled_from(["a", "a" * 31, "a" * 32, "a" * 64, "ä" * 16]),
    st.text("aé", max_size=64, min_size=1),
)
REAL = st.one_of(st.floats(), st.sampled_from([0.0, 1.0, 1e300]), st.integers(0, 300))
PUSHED = st.lists(st.sampled_from([b"", b"ab", bytes(255), bytes(256), bytes(300)]), max_size=4)
SHAPED = st.one_of(
    st.builds(Hello, NAME, NATURAL),
    st.builds(Begin, REAL),
    st.builds(
        Pull, NAME, NATURAL, NATURAL, st.none() | NATURAL, st.sampled_from([(), ((1, 2), (3, 9))])
    ),
    st.builds(
        ModelReply, NATURAL, NATURAL, st.sampled_from([np.zeros(n, "f4") for n in (0, 1, 64, 99)])
    ),
    st.builds(Update, NAME, NATURAL, REAL, REAL, PUSHED, st.none() | NATURAL),
    st.just(Bye()),
    st.just(Again()),
    st.builds(Diverged, NAME, NATURAL),
)
FORMS = st.builds(Form, st.booleans(), st.booleans(), st.booleans())


@given(st.lists(st.tuples(SHAPED, FORMS), min_size=1, max_size=20))
@settings(max_examples=300, deadline=None)
def test_sizes_that_are_remembered_are_those_of_the_packed_messages(sent):
    for message, form in [*sent, *sent]:
        lengths = [len(bytes(frame)) for frame in wire.pack(message)]
        lengths += [wire.CHECKSUM] if form.checked else []
        assert wire.size(message, form) == sum(lengths) + framing(lengths, form)


@given(
    st.builds(Update, NAME, NATURAL, REAL, REAL, PUSHED, st.none() | NATURAL),
    FORMS,
    NATURAL,
    NATURAL,
)
def test_the_parts_of_a_push_are_its_whole_size(update, form, values, indices):
    """The codec counts what is in its frames; head, checksum and framing are counted beside it."""
    coded = sum(map(len, update.frames))
    values, indices = values % (coded + 1), indices % (coded + 1)
    count = ByteCount(values, indices, coded - values - indices)
    assert sum(wire.pushed(update, count, form)) == wire.size(update, form)


def test_a_size_is_packed_once_for_each_shape_and_few_shapes_are_kept(monkeypatch):
    packed = []
    inner = wire._packed_size
    monkeypatch.setattr(wire, "_packed_size", lambda *sent: packed.append(sent) or inner(*sent))
    monkeypatch.setattr(wire, "MOST_SIZES", 10)
    monkeypatch.setattr(wire, "_sizes", {})
    for ticket in range(64, 128):
        wire.size(Pull(f"home-{ticket}", ticket))
    assert len(packed) == 2  # of `home-64`, and of `home-100`
    for length in range(100):
        wire.size(Update("home-1", 0, 0.0, 0.0, [bytes(length)]))
        assert len(wire._sizes) <= 10


@pytest.mark.parametrize(
    ("frames", "complaint"),
    [
        ([], "1 to 5 frames"),
        ([b"\x93"] * 9, "1 to 5 frames"),
        ([b""], "unreadable head"),
        ([b"\xff" * 40], "unreadable head"),
        ([*wire.pack(Bye()), b"more"], "stands alone"),
        ([wire.pack(MESSAGES[3])[0]], "one array"),
        ([wire.pack(MESSAGES[3])[0], b"123"], "no vector"),
        (wire.pack(Begin(float("inf"))), "cannot begin"),
        (wire.pack(Update("a", 0, 0.0, -1.0, ())), "cannot take"),
        (wire.pack(Update("a", -1, 0.0, 1.0, ())), "unreadable head"),
        (wire.pack(Hello("", 0)), "unreadable head"),
        (wire.pack(Hello("x" * 65, 0)), "unreadable head"),
        (wire.pack(Score("e", 0, 1.5, 0.0)), "unreadable head"),
        (wire.pack(Pull("e", 0, segments=((1, 4097),))), "unreadable head"),
        (wire.pack(segment_of((0, 1))), "unreadable head"),
        (wire.pack(segment_of((3, 2))), "cannot begin at layer 3"),
        (wire.pack(segment_of((1, 4097))), "unreadable head"),
        (wire.pack(segment_of((1, 1), Times(float("nan"), ()))), "not finite"),
        (wire.pack(segment_of((1, 1), Times(1.0, (float("inf"),)))), "not finite"),
        (wire.pack(segment_of((1, 1), Times(1.0, (1.0,) * 4097))), "unreadable head"),
        (wire.pack(UpdateSegment("a", 0, 0, (2, 1), 0.0, 1.0, ())), "cannot begin at layer 2"),
        (wire.pack(UpdateSegment("a", 0, 0, (1, 1), 0.0, -1.0, ())), "cannot take"),
        (wire.pack(PatchSegment(0, 0, (1, 1), None, (b"", b""))), "expected 1"),
        (wire.pack(Activations("a", 0, 0, 0, b"ab")), "unreadable head"),
        (wire.pack(Activations("a", 0, 0, 2**20 + 1, b"ab")), "unreadable head"),
        (wire.pack(Activations("a", 0, 0, 1, b"abc")), "multiple of 2"),
        (wire.pack(Activations("a", 0, 0, 3, b"abcdefgh")), "multiple of 6"),
        (wire.pack(Activations("a", 0, 0, 2, b"")), "0 bytes"),
        (wire.pack(Activations("a", 0, 0, 2, b"abcd", b"abcd")), "multiple of 8"),
        (wire.pack(Activations("a", 0, 0, 2, b"abcd", b"")), "0 bytes"),
        (wire.pack(MESSAGES[17])[:1], "1 or 2 arrays"),
        ([*wire.pack(MESSAGES[16]), b"abcd"], "1 or 2 arrays"),
        (wire.pack(ActivationGradient(0, 0.0, b"abc")), "multiple of 2"),
        (wire.pack(MESSAGES[18])[:1], "0 arrays"),
        (wire.pack(Logits(0, b"ab")), "multiple of 4"),
        ([*wire.pack(MESSAGES[19]), b"abcd"], "2 arrays"),
        (wire.pack(LogitGradient("a", 0, 0.0, b"abcdef")), "multiple of 4"),
        (wire.pack(LogitGradient("", 0, 0.0, b"abcd")), "unreadable head"),
    ],
)
def test_what_is_odd_is_refused(frames, complaint):
    with pytest.raises(WireError, match=complaint):
        wire.unpack(frames)


@pytest.mark.slow
@settings(max_examples=300)
@given(st.lists(st.binary(max_size=64), max_size=6))
def test_random_bytes_do_no_harm(frames):
    with contextlib.suppress(WireError):
        wire.unpack(frames)


@pytest.mark.slow
def test_mutations_do_no_harm_and_what_is_taken_is_what_is_sent():
    """Whatever mutated bytes are taken, taking and sending them again changes nothing."""
    dice = random.Random(5)
    originals = [[bytes(f) for f in wire.pack(message)] for message in MESSAGES]
    taken = 0
    for _ in range(20_000):
        frames = [mutate(frame, dice) for frame in dice.choice(originals)]
        try:
            message = wire.unpack(frames)
        except WireError:
            continue
        taken += 1
        again = wire.unpack([bytes(f) for f in wire.pack(message)])
        assert str(fields(again)) == str(fields(message))
    assert taken > 100  # else the mutations tell nothing
