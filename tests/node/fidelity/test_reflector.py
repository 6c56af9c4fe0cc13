"""The server's reflector of echoes, and what strangers can make it do."""

import socket
import struct
import time
from collections.abc import Iterator

import pytest

from emulator.node.fidelity import echo_wire
from emulator.node.fidelity.echo_wire import Answer, Reflector


@pytest.fixture
def server() -> Iterator[Reflector]:
    made = Reflector(port=0)
    yield made
    made.socket.close()


def _send(server: Reflector, *datagrams: bytes) -> list[Answer]:
    """The answers of `server` to a sender on this host."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.bind(("127.0.0.1", 0))
        sender.settimeout(0.2)
        for datagram in datagrams:
            sender.sendto(datagram, ("127.0.0.1", server.socket.getsockname()[1]))
            time.sleep(0.001)
            server.reflect()
        answers = []
        try:
            while True:
                answer = echo_wire.read_answer(sender.recv(100))
                assert answer is not None
                answers.append(answer)
        except TimeoutError:
            return answers


def test_the_server_answers_questions_only(server: Reflector) -> None:
    session = b"abcdefgh"
    asked = [echo_wire.question(session, number) for number in (1, 2, 2, 5)]
    hostile = [b"", b"\xff" * 40, asked[0] + b"more", asked[0][:-1], struct.pack("!4s36x", b"emu0")]
    told = _send(server, *hostile, *asked)
    assert [(answer.number, answer.heard) for answer in told] == [(1, 1), (2, 2), (2, 2), (5, 3)]
    for answer in told:
        assert abs(answer.arrived - time.time_ns()) < 10**10
        assert answer.arrived <= answer.left


def test_a_flood_is_stopped(server: Reflector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(echo_wire, "MOST_ANSWERS", 5)
    monkeypatch.setattr(echo_wire, "MOST_SENDERS", 0)
    asked = [echo_wire.question(b"abcdefgh", 1 + number) for number in range(30)]
    told = _send(server, *asked)
    assert 5 <= len(told) <= 10  # a second may end meanwhile
    assert {answer.heard for answer in told} == {0}  # too many senders: none is remembered
