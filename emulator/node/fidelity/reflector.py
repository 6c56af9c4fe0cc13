"""The server's end of echoes: it answers each question with the time of its arrival."""

from collections.abc import Callable
from contextlib import suppress

from .echo_wire import PORT, Answer, answer, open_socket, read_question, receive, stamp

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
