"""Echoes between supervisors: datagrams that measure the delay of each direction of a link.

All containers of a host share its clock, so the stamps of both ends can be compared. The kernel
stamps a datagram when it arrives, however long the supervisor waits for a core. Question and answer
have the same size, so a stranger cannot make the server send more than he sends himself. The server
copies a question, adds stamps, and interprets nothing: its end is the `Reflector`.
"""

import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

PORT = 5556
"""UDP port of the server's supervisor."""
SIZE = 40
"""Bytes of a question, and of an answer."""
FRAME = SIZE + 42
"""Bytes of either on the link: with the headers of UDP, IPv4 and Ethernet."""

_MARK = b"emu1"
_QUESTION = struct.Struct("!4s8sI24x")
"""Mark, session, number."""
_ANSWER = struct.Struct("!4s8sIIqqI")
"""Mark, session, number, questions heard in the session, arrival, departure, flags."""
SESSION = 8
"""Bytes of a session's name, drawn at random: a stranger cannot guess it."""
UP_WAITS, DOWN_WAITS = 1, 2
"""Flags: at the server packets waited in this direction."""

_TIMESTAMPNS = 35
"""Option of a socket, and kind of the message, by which Linux tells when a datagram arrived."""
_TIME = struct.Struct("=qq")
"""Seconds and nanoseconds since 1970."""


class Answer(NamedTuple):
    """An answer to a question of this node's. Times are in nanoseconds since 1970."""

    session: bytes
    number: int
    heard: int
    """Questions of the session that had reached the server, this one included."""
    arrived: int
    """When the question arrived at the server."""
    left: int
    """When the server sent the answer."""
    waits: int
    """Flags `UP_WAITS` and `DOWN_WAITS`."""


def question(session: bytes, number: int) -> bytes:
    """Return the question `number` of a `session`."""
    return _QUESTION.pack(_MARK, session, number)


def read_question(data: bytes) -> tuple[bytes, int] | None:
    """Return session and number of a question; None if `data` is none."""
    if len(data) != SIZE:
        return None
    mark, session, number = _QUESTION.unpack(data)
    return (session, number) if mark == _MARK else None


def answer(told: Answer) -> bytes:
    """Return the answer `told` as a datagram."""
    return _ANSWER.pack(_MARK, *told)


def read_answer(data: bytes) -> Answer | None:
    """Return the answer in `data`; None if `data` is none."""
    if len(data) != SIZE:
        return None
    mark, *told = _ANSWER.unpack(data)
    return Answer(*told) if mark == _MARK else None


def stamp() -> int:
    """Return the time of the host's clock, which all containers share, in nanoseconds since
    1970."""
    return time.time_ns()


def open_socket(port: int = 0) -> socket.socket:
    """Return a UDP socket on `port` that never blocks and tells when each datagram arrived."""
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    made.setsockopt(socket.SOL_SOCKET, _TIMESTAMPNS, 1)
    made.bind(("", port))
    return made


def receive(source: socket.socket) -> tuple[bytes, int, tuple[str, int]] | None:
    """Return the next datagram, its arrival in nanoseconds, and its sender; None if none waits."""
    try:
        # a byte more than an echo has: a longer datagram is cut, and refused for its length
        data, extra, _, sender = source.recvmsg(SIZE + 1, 64)
    except OSError:  # none has arrived, or the network refused an earlier one
        return None
    for level, kind, content in extra:
        if (level, kind) == (socket.SOL_SOCKET, _TIMESTAMPNS) and len(content) >= _TIME.size:
            seconds, nanoseconds = _TIME.unpack_from(content)
            return data, seconds * 10**9 + nanoseconds, sender
    return data, stamp(), sender


MOST_SENDERS = 4096
"""Addresses whose questions are counted; further ones are answered without a count."""
MOST_ANSWERS = 2000
"""Questions answered in a second."""


class Reflector:
    """Answers questions on a UDP port."""

    def __init__(self, waits: Callable[[], int] = lambda: 0, port: int = PORT) -> None:
        """`waits` returns the flags of the directions in which packets wait at the server."""
        self.socket, self._waits = open_socket(port), waits
        self._heard: dict[str, tuple[bytes, int, int]] = {}
        """By address: the latest session, its highest question, and how many were heard."""
        self._second, self._count = 0, 0

    def reflect(self) -> bool:
        """Answer the next datagram if it is a question; return whether too many arrive."""
        got = receive(self.socket)
        if got is None:
            return False
        data, arrived, sender = got
        if self._is_flood(arrived // 10**9):
            return True
        asked = read_question(data)
        if asked is None:
            return False
        session, number = asked
        told = Answer(
            session, number, self._hear(sender[0], session, number), arrived, 0, self._waits()
        )
        with suppress(OSError):  # the sender is out of reach
            self.socket.sendto(answer(told._replace(left=stamp())), sender)
        return False

    def _is_flood(self, second: int) -> bool:
        """Count a datagram that arrived in `second`; return whether the second had enough."""
        if second != self._second:
            self._second, self._count = second, 0
        self._count += 1
        return self._count > MOST_ANSWERS

    def _hear(self, address: str, session: bytes, number: int) -> int:
        """Count a question; return how many different ones of its session were heard."""
        known = self._heard.get(address)
        if known is None and len(self._heard) >= MOST_SENDERS:
            return 0
        highest, count = known[1:] if known and known[0] == session else (0, 0)
        count += number > highest
        self._heard[address] = session, max(highest, number), count
        return count
