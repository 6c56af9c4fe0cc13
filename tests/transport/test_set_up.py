"""Set-up times over real sockets on loopback, where a rate is missing and bits take no time."""

import time
from collections.abc import Iterator
from random import Random

import numpy as np
import pytest

from emulator.core.wire.messages import Hello, ModelReply, Pull, Update
from emulator.core.zmtp import Heartbeat
from emulator.shaping.hold import Hold
from emulator.transport import server_driver
from emulator.transport.inbox import Inbox
from emulator.transport.peer import Peer
from emulator.transport.router import Router
from emulator.transport.secrets import Secret, issue
from emulator.units import Seconds

pytestmark = pytest.mark.timeout(60)

SETUP = 0.1
LATE = 0.05
"""Seconds by which a busy host may be late."""


def _hold(setup: float = SETUP) -> Hold:
    return Hold(Seconds(0), Seconds(0), Random(1), setup=setup)


@pytest.fixture
def secret_and_router() -> Iterator[tuple[Secret, Router]]:
    guests, secrets = issue(["a"], encrypt=False)
    with Router("tcp://127.0.0.1:*", guests, Heartbeat(), largest=100_000) as router:
        yield secrets["a"], router


class Listener:
    """A server that notes the time of every message and answers none."""

    def __init__(self, wanted: int) -> None:
        self.times: list[float] = []
        self.messages: list[object] = []
        self.refused: list[str] = []
        self._wanted = wanted

    @property
    def over(self) -> bool:
        return len(self.times) >= self._wanted

    def deadline(self) -> None:
        return None

    def tick(self, now: float) -> list:
        return []

    def refuse(self, node: str, reason: str, now: float) -> None:
        self.refused.append(reason)

    def handle(self, node: str, message: object, now: float) -> list:
        self.times.append(now)
        self.messages.append(message)
        return []


def test_messages_of_a_device_hold_its_uplink_one_after_the_other(secret_and_router) -> None:
    secret, router = secret_and_router
    server = Listener(4)
    with Peer(router.address, secret, Heartbeat()) as peer:
        peer.send(Hello("a", 0))
        assert router.poll(5.0)
        router.receive()
        began = time.monotonic()
        for ticket in range(4):
            peer.send(Pull("a", ticket))
        server_driver.serve(server, router, holds={"a": _hold()})
    assert [message.ticket for message in server.messages] == [0, 1, 2, 3]
    for number, at in enumerate(server.times, 1):
        assert 0 <= at - began - number * SETUP < LATE


def test_a_boot_ends_the_set_ups_of_the_incarnation_before(secret_and_router) -> None:
    secret, router = secret_and_router
    server = Listener(1)
    with Peer(router.address, secret, Heartbeat()) as peer:
        for ticket in range(20):
            peer.send(Pull("a", ticket))
        peer.send(Hello("a", 1))
        began = time.monotonic()
        server_driver.serve(server, router, holds={"a": _hold()})
    assert isinstance(server.messages[0], Hello)
    assert SETUP - LATE < server.times[0] - began < SETUP + LATE


def test_pieces_that_come_while_a_node_computes_are_set_up_meanwhile(secret_and_router) -> None:
    secret, router = secret_and_router
    with Peer(router.address, secret, Heartbeat()) as peer:
        peer.send(Hello("a", 0))
        assert router.poll(5.0)
        router.receive()
        inbox = Inbox(peer, _hold())
        began = time.monotonic()
        for ticket in range(4):
            assert router.send("a", ModelReply(ticket, 0, np.zeros(1000, np.float32)))
        times = []
        for ticket in range(4):
            assert inbox.next(5.0).message.ticket == ticket
            times.append(time.monotonic() - began)
            if ticket == 0:
                time.sleep(2.5 * SETUP)
    expected = [SETUP, 3.5 * SETUP, 3.5 * SETUP, 4 * SETUP]
    assert all(0 <= at - due < LATE for at, due in zip(times, expected, strict=True)), times


@pytest.mark.slow
def test_a_device_cannot_fill_the_server_with_messages_that_wait(secret_and_router) -> None:
    """Messages are large, and the link would carry a single message in a second."""
    secret, router = secret_and_router
    server, sent = Listener(1), 40
    with Peer(router.address, secret, Heartbeat()) as peer:
        for ticket in range(sent):
            peer.send(Update("a", ticket, 0.0, 0.0, [bytes(50_000)]))
        server_driver.serve(server, router, holds={"a": _hold(1.0)})
    taken = router.allowed // 50_000  # and their heads
    assert len(server.refused) == sent - taken
    assert "more messages than its link carries" in server.refused[0]


@pytest.mark.slow
def test_nor_with_small_ones(monkeypatch: pytest.MonkeyPatch, secret_and_router) -> None:
    monkeypatch.setattr(server_driver, "MOST_HELD", 10)
    secret, router = secret_and_router
    server = Listener(1)
    with Peer(router.address, secret, Heartbeat()) as peer:
        for ticket in range(25):
            peer.send(Pull("a", ticket))
        server_driver.serve(server, router, holds={"a": _hold(1.0)})
    assert len(server.refused) == 15
