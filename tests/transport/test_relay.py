"""A relay passes on what nodes and server say, each model once; and speaks for its nodes only."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import pytest
import zmq

from emulator.core import wire
from emulator.core.wire.messages import Begin, Bye, Hello, ModelReply, Pull
from emulator.core.zmtp import Heartbeat
from emulator.errors import WireError
from emulator.transport.peer import Peer
from emulator.transport.relay import HostModel, Uplink, relay
from emulator.transport.relayed_nodes import RelayedNodes
from emulator.transport.router import Router
from emulator.transport.secrets import KeyPair, issue_relayed

BEAT = Heartbeat()
HOME, NEAR, FAR = "home-0", "far-0", "far-1"
BEHIND = {"relay_b": [NEAR, FAR]}
SIZE = 1000
pytestmark = pytest.mark.timeout(60)


class Server:
    """A router that answers hellos and pulls; the model of a version is full of its number."""

    def __init__(self, router: Router) -> None:
        self.router, self.version = router, 1
        self.heard: list[tuple[str, str]] = []
        self.refused: list[str] = []
        self.models: list[int] = []
        """Parameters of each model that was sent, as it went over the wire."""
        packed = router._relays.spared

        def spared(route: bytes, message: Any) -> Any:
            leaves = packed(route, message)
            if isinstance(leaves, ModelReply):
                self.models.append(leaves.size)
            return leaves

        router._relays.spared = spared  # type: ignore[method-assign]

    def answer(self, over: threading.Event) -> None:
        while not over.is_set():
            while self.router.poll(0.02) and (received := self.router.receive()):
                if received.error:
                    self.refused.append(received.error)
                elif received.message is not None:
                    self.heard.append((received.node, type(received.message).__name__))
                    self.router.send(received.node, self.reply(received.message))

    def reply(self, message: Any) -> Any:
        if isinstance(message, Pull):
            theta = np.full(SIZE, self.version, np.float32)
            return ModelReply(message.ticket, self.version, theta)
        return Begin(7.0)


@contextmanager
def thread(target: Callable[[threading.Event], None]) -> Iterator[None]:
    over = threading.Event()
    running = threading.Thread(target=target, args=(over,))
    running.start()
    try:
        yield
    finally:
        over.set()
        running.join()


class World:
    """A server, a relay, a node at the server's host, and two behind the relay."""

    def __init__(self, held: ExitStack) -> None:
        guests, self.secrets, lists = issue_relayed((HOME, NEAR, FAR), BEHIND)
        router = held.enter_context(Router("tcp://127.0.0.1:*", guests, BEAT, largest=100_000))
        self.server, self.address = Server(router), router.address
        held.enter_context(thread(self.server.answer))
        self.lists = lists
        self.relay_address = held.enter_context(self.relaying())
        self.peers = {
            name: held.enter_context(
                Peer(self.address if name == HOME else self.relay_address, self.secrets[name], BEAT)
            )
            for name in (HOME, NEAR, FAR)
        }

    @contextmanager
    def relaying(self, address: str = "tcp://127.0.0.1:*") -> Iterator[str]:
        own = self.lists["relay_b"]
        with (
            Router(address, own, BEAT, largest=100_000) as router,
            Uplink(self.address, self.secrets["relay_b"], BEAT) as uplink,
            thread(lambda over: relay(router, uplink, over.is_set)),
        ):
            yield router.address

    def ask(self, name: str, message: Any) -> Any:
        peer, until = self.peers[name], time.monotonic() + 20.0
        while time.monotonic() < until:  # as a node asks again after a time-out
            peer.send(message)
            if (reply := peer.receive(2.0)) is not None:
                return reply
        raise AssertionError(f"{name} has no answer")


@pytest.fixture
def world() -> Iterator[World]:
    with ExitStack() as held:
        yield World(held)


def test_nodes_behind_a_relay_are_heard_under_their_own_names(world: World) -> None:
    for name in (HOME, NEAR, FAR):
        assert world.ask(name, Hello(name, 0)).zero == 7.0
    assert world.server.heard == [(name, "Hello") for name in (HOME, NEAR, FAR)]


def test_a_version_travels_once_to_a_relay_and_whole_to_every_node(world: World) -> None:
    for version in (1, 2):
        world.server.version = version
        for ticket, name in enumerate((NEAR, FAR, HOME)):
            reply = world.ask(name, Pull(name, ticket))
            assert (reply.version, reply.ticket) == (version, ticket)
            assert np.array_equal(reply.theta, np.full(SIZE, version, np.float32))
    # what the relay has goes without its parameters; a node at the server's host has no relay
    assert world.server.models == [SIZE, 0, SIZE, 0]


def test_a_new_relay_is_sent_the_model_anew(world: World) -> None:
    with ExitStack() as second:
        world.ask(NEAR, Pull(NEAR, 1))
        address = second.enter_context(world.relaying())
        with Peer(address, world.secrets[FAR], BEAT) as peer:
            world.peers[FAR] = peer
            reply = world.ask(FAR, Pull(FAR, 2))
        assert np.array_equal(reply.theta, np.full(SIZE, 1, np.float32))
    assert world.server.models == [SIZE, SIZE]


def test_a_relay_speaks_for_its_own_nodes_only(world: World) -> None:
    pair = world.secrets["relay_b"]
    assert isinstance(pair, KeyPair)
    with Uplink(world.address, pair, BEAT) as impostor:
        impostor.pass_on(HOME, Hello(HOME, 5))
        impostor.pass_on("x" * 500, Hello("x", 5))
        until = time.monotonic() + 10.0
        while len(world.server.refused) < 2:
            assert time.monotonic() < until
            time.sleep(0.01)
        impostor.pass_on(NEAR, Hello(FAR, 5))  # under one name, for another
        while len(world.server.refused) < 3:
            assert time.monotonic() < until
            time.sleep(0.01)
    assert world.server.refused[0] == f"relay_b speaks for {HOME!r}"
    assert len(world.server.refused[1]) < 120
    assert world.server.refused[2] == f"{NEAR} speaks for {FAR!r}"
    assert all(name in (NEAR, FAR) for name, _ in world.server.heard)


def test_a_relay_without_a_name_in_front_is_refused(world: World) -> None:
    pair = world.secrets["relay_b"]
    with Uplink(world.address, pair, BEAT) as uplink:
        uplink._socket.send(b"")
        until = time.monotonic() + 10.0
        while not world.server.refused:
            assert time.monotonic() < until
            time.sleep(0.01)
    assert world.server.refused == ["relay_b speaks for ''"]


@pytest.mark.slow
def test_nodes_prove_their_keys_to_their_own_relay(world: World) -> None:
    """The key of a node behind a relay opens no connection to the server, and the other way."""
    for name, address in ((NEAR, world.address), (HOME, world.relay_address)):
        with Peer(address, world.secrets[name], BEAT) as peer:
            peer.send(Hello(name, 1))
            assert peer.receive(1.0) is None
    assert world.server.heard == []


def test_what_a_relay_has_not_is_asked_for_again() -> None:
    model = HostModel()
    stub = ModelReply(3, 8, np.zeros(0, np.float32))
    bye = Bye()
    assert model.whole(stub) is None and model.whole(bye) is bye
    whole = ModelReply(1, 8, np.ones(4, np.float32))
    assert model.whole(whole) is whole
    filled = model.whole(stub)
    assert isinstance(filled, ModelReply)
    assert (filled.ticket, filled.version, filled.size) == (3, 8, 4)
    assert model.whole(ModelReply(4, 9, np.zeros(0, np.float32))) is None


def test_a_model_that_did_not_leave_is_not_taken_for_sent() -> None:
    nodes = RelayedNodes(BEHIND)
    reply = ModelReply(1, 5, np.ones(4, np.float32))
    assert nodes.spared(b"1", reply) is reply
    assert nodes.spared(b"1", reply) is reply  # the queue was full
    nodes.sent(b"1", reply)
    assert nodes.spared(b"1", reply).size == 0
    assert nodes.spared(b"2", reply) is reply  # another connection
    later = ModelReply(1, 6, np.ones(4, np.float32))
    assert nodes.spared(b"1", later) is later
    with pytest.raises(WireError):
        nodes.sender("relay_b", b"\xff")
    assert (nodes.most, RelayedNodes({}).most) == (2, 1)


def test_a_model_without_parameters_goes_over_the_wire() -> None:
    stub = ModelReply(3, 8, np.zeros(0, np.float32))
    with zmq.Context():
        read: Any = wire.unpack([bytes(frame) for frame in wire.pack(stub)])
    assert (read.ticket, read.version, read.size) == (3, 8, 0)
