"""Messages with flipped bits over real sockets: refused with a word, and asked for again."""

import time
from collections.abc import Sequence

import pytest

from emulator.core.wire import MISMATCH
from emulator.core.wire.messages import Again, Begin, Hello, Pull, Update
from emulator.core.zmtp import Heartbeat
from emulator.transport.inbox import Inbox
from emulator.transport.peer import Peer
from emulator.transport.router import Router
from emulator.transport.secrets import issue
from emulator.vectors import Buffer
from emulator.world.faults.corrupt import Garbler

BEAT = Heartbeat()
pytestmark = pytest.mark.timeout(60)


class Garble:
    """Flips bits in the messages whose turn it is."""

    def __init__(self, *turns: int) -> None:
        self._turns, self._number, self._garbler = turns, 0, Garbler(1, "a", 0)

    def __call__(self, frames: Sequence[Buffer]) -> Sequence[Buffer]:
        self._number += 1
        return self._garbler.garble(frames) if self._number - 1 in self._turns else frames


@pytest.mark.parametrize("encrypt", [False, True])
def test_a_question_with_flipped_bits_is_answered_with_a_word(encrypt: bool) -> None:
    guests, secrets = issue(("a",), encrypt=encrypt)
    with Router("tcp://127.0.0.1:*", guests, BEAT, largest=1000, checked=True) as router:
        garble = Garble(1, 2)
        with Peer(router.address, secrets["a"], BEAT, checked=True, garble=garble) as peer:
            peer.send(Hello("a", 0))
            assert router.poll(5.0)
            received = router.receive()
            assert received is not None and isinstance(received.message, Hello)
            for message, asked in (
                (Pull("a", 1), True),
                (Update("a", 0, 0.5, 0.1, (b"abc",)), False),
            ):
                peer.send(message)
                assert router.poll(5.0)
                assert router.receive() == ("a", None, MISMATCH, asked)
            assert router.send("a", Again())
            began = time.monotonic()
            assert Inbox(peer, None).next(30.0) is None
            assert time.monotonic() - began < 10


def test_a_device_that_is_heard_again_asks_at_once_also_without_checksums() -> None:
    guests, secrets = issue(("a",), encrypt=False)
    with (
        Router("tcp://127.0.0.1:*", guests, BEAT, largest=1000) as router,
        Peer(router.address, secrets["a"], BEAT) as peer,
    ):
        peer.send(Hello("a", 0))
        assert router.poll(5.0) and router.receive() is not None
        assert router.send("a", Again())  # the end of its quarantine
        began = time.monotonic()
        assert Inbox(peer, None).next(30.0) is None
        assert time.monotonic() - began < 10


def test_an_answer_with_flipped_bits_is_asked_for_again_at_once() -> None:
    guests, secrets = issue(("a",), encrypt=False)
    with Router("tcp://127.0.0.1:*", guests, BEAT, largest=1000, checked=True) as router:
        garble = Garble(1)
        with Peer(router.address, secrets["a"], BEAT, checked=True, garble=garble) as peer:
            peer.send(Hello("a", 0))
            assert router.poll(5.0) and router.receive() is not None
            inbox = Inbox(peer, None)
            assert router.send("a", Begin(1.0)) and inbox.next(30.0) is None
            assert router.send("a", Begin(2.0))
            delivery = inbox.next(30.0)
            assert delivery is not None and isinstance(delivery.message, Begin)
            assert delivery.message.zero == 2.0


def test_a_peer_without_checksums_is_refused_by_a_server_with_them() -> None:
    guests, secrets = issue(("a",), encrypt=False)
    with (
        Router("tcp://127.0.0.1:*", guests, BEAT, largest=1000, checked=True) as router,
        Peer(router.address, secrets["a"], BEAT) as peer,
    ):
        peer.send(Hello("a", 0))
        assert router.poll(5.0)
        received = router.receive()
        assert received is not None and received.error == MISMATCH
