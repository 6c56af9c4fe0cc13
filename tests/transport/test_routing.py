"""Replies go to the authenticated node, under whatever name another peer connects."""

import multiprocessing
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
import zmq

from emulator.core.wire.messages import Begin, Hello
from emulator.core.zmtp import Heartbeat
from emulator.transport.peer import Peer
from emulator.transport.router import Router
from emulator.transport.secrets import KeyPair, Secret, issue

NAMES = ("good-0", "evil-0")
BEAT = Heartbeat()
pytestmark = pytest.mark.timeout(60)


@contextmanager
def answering(guests: Any) -> Iterator[str]:
    """Answer every Hello with the sender's incarnation, in a thread; give the address."""
    over = threading.Event()

    def answer(router: Router) -> None:
        while not over.is_set():
            while router.poll(0.05) and (received := router.receive()):
                if received.message is not None:
                    router.send(received.node, Begin(received.message.incarnation))

    with Router("tcp://127.0.0.1:*", guests, BEAT, largest=100_000) as router:
        thread = threading.Thread(target=answer, args=(router,))
        thread.start()
        try:
            yield router.address
        finally:
            over.set()
            thread.join()


@contextmanager
def idle(address: str, secret: Secret, identity: bytes) -> Iterator[None]:
    """Hold a connection that proves `secret`, calls itself `identity`, and says nothing."""
    with zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
        dealer.linger = 0
        dealer.identity = identity
        if isinstance(secret, KeyPair):
            dealer.curve_publickey = secret.public.encode()
            dealer.curve_secretkey = secret.private.encode()
            dealer.curve_serverkey = secret.server.encode()
        else:
            dealer.plain_username = secret.name.encode()
            dealer.plain_password = secret.token.encode()
        dealer.connect(address)
        yield


def exchanges(peer: Peer, seconds: float) -> int:
    """Return how many hellos `peer` has answered, one after the other, within `seconds`."""
    until, number = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        peer.send(Hello("good-0", number))
        answer = peer.receive(1.0)
        if not isinstance(answer, Begin) or answer.zero != number:
            break
        number += 1
    return number


@pytest.mark.slow
@pytest.mark.parametrize("encrypt", [False, True], ids=["plain", "curve"])
def test_a_device_under_the_name_of_another_takes_nothing_from_it(encrypt: bool) -> None:
    guests, secrets = issue(NAMES, encrypt=encrypt)
    with answering(guests) as address, Peer(address, secrets["good-0"], BEAT) as good:
        alone = exchanges(good, 0.5)
        with idle(address, secrets["evil-0"], b"good-0"):
            time.sleep(0.5)  # for the thief's handshake
            robbed = exchanges(good, 0.5)
    assert alone > 10
    assert robbed > 10


@pytest.mark.slow
@pytest.mark.parametrize("encrypt", [False, True], ids=["plain", "curve"])
def test_a_name_that_is_taken_shuts_nobody_out(encrypt: bool) -> None:
    guests, secrets = issue(NAMES, encrypt=encrypt)
    with answering(guests) as address, idle(address, secrets["evil-0"], b"good-0"):
        time.sleep(0.5)
        with Peer(address, secrets["good-0"], BEAT) as good:
            assert exchanges(good, 0.5) > 10


def serve(guests: Any, pipe: Any) -> None:
    with Router("tcp://127.0.0.1:*", guests, BEAT, largest=100_000) as router:
        pipe.send(router.address)
        while not pipe.poll():
            if router.poll(0.05) and (received := router.receive()):
                router.send(received.node, Begin(received.message.incarnation))
                pipe.send(router._routes[received.node])


@contextmanager
def serving(guests: Any) -> Iterator[tuple[Any, Any, str]]:
    """Run `serve` in a process of its own; give the process, the pipe to it and the address."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(guests, theirs))
    process.start()
    try:
        assert ours.poll(20.0)
        yield process, ours, ours.recv()
    finally:
        process.kill()
        process.join()


@pytest.mark.slow
def test_no_peer_can_foresee_how_connections_are_numbered() -> None:
    """libzmq aborts where a connection's next number is a name that another has taken."""
    guests, secrets = issue(NAMES, encrypt=False)
    with (
        serving(guests) as (_, pipe, address),
        Peer(address, secrets["good-0"], BEAT) as good,
    ):
        good.send(Hello("good-0", 0))
        assert pipe.poll(5.0)
        first = pipe.recv()
    number = int.from_bytes(first[1:], "big")
    with ExitStack() as thieves, serving(guests) as (process, _, address):
        for ahead in range(3):
            name = b"\0" + ((number + ahead) % 2**32).to_bytes(4, "big")
            thieves.enter_context(idle(address, secrets["evil-0"], name))
        time.sleep(0.5)
        with Peer(address, secrets["good-0"], BEAT) as good:
            assert exchanges(good, 0.5) > 10
        assert process.is_alive()
