"""Messages as bytes: they come back as they were, and nothing else gets in."""

import contextlib
import dataclasses
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.core import wire
from emulator.core.messages import (
    Begin,
    Bye,
    Diverged,
    Hello,
    ModelReply,
    Pull,
    Score,
    Update,
)
from emulator.errors import WireError

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
]


def fields(message):
    values = {f.name: getattr(message, f.name) for f in dataclasses.fields(message)}
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            values[name] = value.tolist()
        elif isinstance(value, tuple | list):
            values[name] = [bytes(frame) for frame in value]
        elif value != value:
            values[name] = "nan"
    return values


@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: type(m).__name__)
def test_every_message_comes_back_as_it_was(message):
    frames = [bytes(frame) for frame in wire.pack(message)]
    back = wire.unpack(frames)
    assert type(back) is type(message)
    assert fields(back) == fields(message)


def test_a_model_is_packed_without_a_copy():
    theta = np.zeros(10, np.float32)
    _, body = wire.pack(ModelReply(0, 0, theta))
    theta[3] = 7
    assert np.frombuffer(body, np.float32)[3] == 7


@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: type(m).__name__)
def test_size_is_the_frames_and_their_framing(message):
    lengths = [len(bytes(frame)) for frame in wire.pack(message)]
    expected = sum(lengths) + sum(2 if n <= 255 else 9 for n in lengths)
    assert wire.size(message) == expected
    assert wire.size(message, encrypted=True) >= expected + 33 * len(lengths)


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
    ],
)
def test_what_is_odd_is_refused(frames, complaint):
    with pytest.raises(WireError, match=complaint):
        wire.unpack(frames)


@settings(max_examples=300)
@given(st.lists(st.binary(max_size=64), max_size=6))
def test_random_bytes_do_no_harm(frames):
    with contextlib.suppress(WireError):
        wire.unpack(frames)


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


def mutate(frame, dice):
    data = bytearray(frame)
    for _ in range(dice.choice([0, 1, 1, 3])):
        if data:
            data[dice.randrange(len(data))] = dice.randrange(256)
    if dice.random() < 0.1:
        del data[dice.randrange(len(data) + 1) :]
    if dice.random() < 0.05:
        data += dice.randbytes(dice.randrange(8))
    return bytes(data)
