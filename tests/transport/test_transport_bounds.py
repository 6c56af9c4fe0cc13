"""A hostile node makes the server hold little, costs it little, and is named in a refusal."""

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.core import wire
from emulator.core.wire.messages import Hello, ModelReply, Update
from emulator.core.zmtp import Heartbeat
from emulator.transport.peer import Peer
from emulator.transport.router import Received, Router
from emulator.transport.secrets import issue
from tests.fakes.node.raw_peer import RawPeer, frame

BEAT = Heartbeat()
LARGEST = 100_000
MB = 1_000_000
pytestmark = pytest.mark.timeout(60)


HELLO = b"".join(frame(bytes(part), more=False) for part in wire.pack(Hello("evil-0", 0)))
PING = b"\x04\x07\x04PING\0\0"


def serve(guests: Any, pipe: Any, busy: bool) -> None:
    """Tell on `pipe` whom the router hears, and why not; if `busy`, from a first word on."""
    with Router("tcp://127.0.0.1:*", guests, BEAT, largest=LARGEST) as router:
        pipe.send(router.address)
        if busy:
            pipe.recv()
        while not pipe.poll():
            if router.poll(0.05) and (received := router.receive()):
                pipe.send((received.node, received.error))


@contextmanager
def serving(guests: Any, *, busy: bool = False) -> Iterator[tuple[int, Any, str]]:
    """Run `serve` in a process of its own; give its number, the pipe to it and the address."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(guests, theirs, busy))
    process.start()
    try:
        assert ours.poll(20.0)
        assert process.pid is not None
        yield process.pid, ours, ours.recv()
    finally:
        process.kill()
        process.join()


def memory(process: int) -> int:
    """Return the bytes of memory that the process has at this moment."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * 4096


@pytest.mark.mostly_slow
@pytest.mark.parametrize("length", [0, 1, 50_000])
def test_a_message_without_end_takes_little_memory(length: int) -> None:
    """Empty frames take 32 times as much memory as bytes of the wire: 2 * LARGEST of these."""
    guests, secrets = issue(["evil-0", "good-0"], encrypt=False)
    endless = frame(bytes(length), more=True)
    endless *= max(1, 100_000 // len(endless))
    with serving(guests) as (process, pipe, address):
        with RawPeer(address, secrets["evil-0"]) as evil:
            evil.send(HELLO)
            assert pipe.poll(5.0) and pipe.recv() == ("evil-0", "")
            before = peak = memory(process)
            until = time.monotonic() + 5.0
            with pytest.raises(OSError):
                while time.monotonic() < until and peak < before + 1000 * MB:
                    evil.send(endless)
                    peak = max(peak, memory(process))
            assert peak < before + 100 * MB
        assert pipe.poll(5.0)
        node, error = pipe.recv()
        assert node == "evil-0"
        assert "more than 200000 bytes of a message without end" in error
        with Peer(address, secrets["good-0"], BEAT) as good:
            good.send(Hello("good-0", 0))
            assert pipe.poll(5.0) and pipe.recv() == ("good-0", "")


@pytest.mark.slow
def test_connections_of_one_node_share_the_bound() -> None:
    guests, secrets = issue(["evil-0"], encrypt=False)
    with serving(guests) as (process, pipe, address):
        evils = [RawPeer(address, secrets["evil-0"]) for _ in range(5)]
        before = memory(process)
        for evil in evils:
            evil.send(frame(b"", more=True) * 45_000)  # 90 kB
        assert pipe.poll(5.0) and "a message without end" in pipe.recv()[1]
        assert memory(process) < before + 50 * MB
        for evil in evils:
            evil.close()


@pytest.mark.slow
def test_what_connections_have_left_counts_until_it_is_read() -> None:
    """Else a node would leave 190 kB of small messages, 6 MB of memory, with each of them."""
    guests, secrets = issue(["evil-0", "good-0"], encrypt=False)
    with serving(guests, busy=True) as (process, pipe, address):
        before = memory(process)
        for _ in range(40):
            with suppress(OSError, AssertionError), RawPeer(address, secrets["evil-0"]) as evil:
                evil.send(frame(b"", more=False) * 95_000)
                time.sleep(0.1)  # for libzmq to take it
        assert memory(process) < before + 50 * MB
        pipe.send(None)
        with Peer(address, secrets["good-0"], BEAT) as good:
            good.send(Hello("good-0", 0))
            heard = iter(lambda: pipe.poll(5.0) and pipe.recv(), False)
            assert ("good-0", "") in heard


@pytest.mark.slow
def test_pings_behind_a_long_queue_on_a_broken_connection_harm_nobody() -> None:
    """libzmq aborts where it stops reading, the connection breaks, and then it finds a ping."""
    guests, secrets = issue(["evil-0"], encrypt=False)
    with serving(guests, busy=True) as (_, pipe, address):
        with RawPeer(address, secrets["evil-0"]) as evil:
            evil.send(HELLO * 100 + PING * 10)
            time.sleep(0.5)
            evil.reset()
        time.sleep(0.5)
        pipe.send(None)
        for _ in range(100):
            assert pipe.poll(5.0) and pipe.recv() == ("evil-0", "")


@pytest.mark.slow
def test_nobody_takes_all_connections() -> None:
    guests, secrets = issue(["evil-0"], encrypt=False)
    with serving(guests) as (_, pipe, address):
        evils = [RawPeer(address, secrets["evil-0"]) for _ in range(10)]
        assert pipe.poll(5.0) and "more than 9 connections" in pipe.recv()[1]
        for evil in evils:
            evil.close()


def heard(router: Router, seconds: float = 5.0) -> Received:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if router.poll(0.1) and (received := router.receive()):
            return received
    raise AssertionError("nothing is heard")


@pytest.mark.parametrize("encrypt", [False, True], ids=["plain", "curve"])
def test_a_frame_beyond_the_bound_is_refused_by_name(encrypt: bool) -> None:
    guests, secrets = issue(["a"], encrypt=encrypt)
    with (
        Router("tcp://127.0.0.1:*", guests, BEAT, largest=LARGEST) as router,
        Peer(router.address, secrets["a"], BEAT) as peer,
    ):
        peer.send(Hello("a", 0))
        assert heard(router).message
        while not router._watch._connections:  # on a busy machine its thread may come late
            time.sleep(0.01)
        peer._socket.send_multipart([b"x", bytes(2 * LARGEST)])
        refused = heard(router)
        assert (refused.node, refused.message) == ("a", None)
        assert "a frame of more than 100000 bytes" in refused.error
        assert peer.receive(1.0) is None and peer.lost  # it has come back on a new connection
        peer.send(Hello("a", 1))
        assert heard(router).message


def test_who_leaves_in_order_is_not_refused() -> None:
    guests, secrets = issue(["a"], encrypt=False)
    with Router("tcp://127.0.0.1:*", guests, BEAT, largest=LARGEST) as router:
        for number in range(3):
            with Peer(router.address, secrets["a"], BEAT) as peer:
                peer.send(Hello("a", number))
                assert heard(router).message
        assert not router.poll(0.5)


@pytest.mark.slow
@pytest.mark.parametrize("encrypt", [False, True], ids=["plain", "curve"])
def test_who_sends_thousands_of_frames_comes_in_no_more(encrypt: bool) -> None:
    guests, secrets = issue(["evil-0", "good-0"], encrypt=encrypt)
    with (
        Router("tcp://127.0.0.1:*", guests, BEAT, largest=LARGEST) as router,
        Peer(router.address, secrets["evil-0"], BEAT) as evil,
        Peer(router.address, secrets["good-0"], BEAT) as good,
    ):
        evil._socket.send_multipart([b""] * 5000)
        refused = heard(router)
        assert refused.node == "evil-0"
        assert "5000 frames: hung up, and let in no more" in refused.error
        time.sleep(0.5)
        evil.send(Hello("evil-0", 0))
        assert not router.poll(1.0)
        good.send(Hello("good-0", 0))
        assert heard(router).node == "good-0"


@pytest.mark.slow
@pytest.mark.parametrize("encrypt", [False, True], ids=["plain", "curve"])
def test_honest_bytes_are_counted_to_the_last(encrypt: bool) -> None:
    """A byte miscounted in each message would add up to more than the bound, and be refused."""
    guests, secrets = issue(["a"], encrypt=encrypt)
    with (
        Router("tcp://127.0.0.1:*", guests, BEAT, largest=2000) as router,
        Peer(router.address, secrets["a"], BEAT) as peer,
    ):
        for number in range(6_000):
            lengths = (0, number % 300, number % 1000)
            peer.send(Update("a", number, 0.5, 0.1, tuple(bytes(n) for n in lengths)))
            received = heard(router)
            assert received.message, received.error


def test_few_models_wait_for_a_node_that_does_not_read() -> None:
    guests, secrets = issue(["evil-0"], encrypt=False)
    model = ModelReply(1, 1, np.zeros(2_000_000, np.float32))
    with (
        Router("tcp://127.0.0.1:*", guests, BEAT, largest=LARGEST) as router,
        RawPeer(router.address, secrets["evil-0"]) as evil,
    ):
        evil.send(HELLO)
        assert heard(router).message
        assert sum(router.send("evil-0", model) for _ in range(30)) < 12
