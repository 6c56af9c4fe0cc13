"""Hostile bytes of a connection: what a peer without libzmq can do to ZMTP 3.1 itself."""

import struct
from random import Random

from tests.fakes.node.raw_peer import frame

from .messages import Frames

_GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01%s" + bytes(32)
_INITIATE = b"\x08INITIATE\x0bSocket-Type\0\0\0\x06DEALER"
_MECHANISMS = (b"PLAIN", b"PLAIN", b"PLAIN", b"NULL", b"CURVE", b"GSSAPI", b"\xff" * 20)
ENDLESS = 60_000
"""Empty frames of a message without end."""


def framed(message: Frames) -> bytes:
    """Return the bytes of `message` on the wire."""
    last = len(message) - 1
    return b"".join(frame(part, more=number < last) for number, part in enumerate(message))


def stream(kind: str, messages: list[Frames], dice: Random) -> bytes:
    """Return the bytes of `messages` after an attack of `kind` on their framing."""
    sent = bytearray(b"".join(map(framed, messages)))
    at = dice.randrange(len(sent))
    match kind:
        case "mutated":
            for _ in range(dice.randint(1, 8)):
                sent[dice.randrange(len(sent))] ^= 1 << dice.randrange(8)
        case "truncated":
            del sent[at:]
        case "replayed":
            sent = sent * 2
        case "reordered":
            sent = sent[at:] + sent[:at]
        case "oversized" if dice.random() < 0.02:
            sent += frame(b"", more=True) * ENDLESS
        case "oversized":
            sent += bytes([2 + dice.randrange(2)]) + struct.pack(">Q", 2 ** dice.randint(20, 63))
            sent += bytes(1000)
    return bytes(sent)


def refused_greeting(dice: Random) -> bytes:
    """Return the first bytes of a peer that has no secret, or does not say one as it should."""
    greeting = _GREETING % dice.choice(_MECHANISMS).ljust(20, b"\0")
    name, token = b"honest-0", dice.randbytes(dice.choice((0, 32, 32, 255)))
    hello = b"\x05HELLO" + bytes([len(name)]) + name + bytes([len(token)]) + token
    commands = [_command(hello), _command(_INITIATE)]
    match dice.randrange(8):
        case 0:
            return dice.randbytes(dice.randint(1, 2000))  # no greeting
        case 1:
            return greeting[: dice.randrange(64)]
        case 2:
            return greeting  # as if it were admitted
        case 3:
            commands.reverse()
        case 4:
            commands[0] = b"\x06" + struct.pack(">Q", 2 ** dice.randint(10, 63)) + hello
        case 5:
            lying = bytearray(commands[0])
            lying[dice.randrange(len(lying))] ^= 1 << dice.randrange(8)
            commands[0] = bytes(lying)
    return greeting + b"".join(commands)


def _command(content: bytes) -> bytes:
    if len(content) < 256:
        return bytes([4, len(content)]) + content
    return b"\x06" + struct.pack(">Q", len(content)) + content
