"""A device that comes back while its last connection is not yet dead, over real sockets."""

import multiprocessing
import socket
import struct
import threading
import time
from contextlib import closing, suppress

import pytest

from emulator.core.wire.messages import Begin, Hello
from emulator.core.zmtp import Heartbeat
from emulator.transport.peer import Peer
from emulator.transport.router import Router
from emulator.transport.secrets import issue

BEAT = Heartbeat(interval=0.2, timeout=10.0)
RESET = struct.pack("ii", 1, 0)
pytestmark = pytest.mark.timeout(60)


class Line:
    """A TCP forwarder for one connection that can be held up, and then breaks."""

    def __init__(self, port):
        self.gate = threading.Event()
        self.gate.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        self._server = socket.create_connection(("127.0.0.1", port))
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self):
        self._client, _ = self._listener.accept()
        for ends in ((self._client, self._server), (self._server, self._client)):
            self._threads.append(threading.Thread(target=self._forward, args=ends))
            self._threads[-1].start()

    def _forward(self, source, sink):
        try:
            while data := source.recv(65536):
                self.gate.wait()
                sink.sendall(data)
        except OSError:
            return

    def reset(self):
        """As where what was sent long ago comes to a host that knows of no such connection."""
        self._server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self._server.shutdown(socket.SHUT_RD)  # wakes who reads it
        self._server.close()

    def close(self):
        self.gate.set()
        for end in (self._client, self._server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for end in (self._client, self._server, self._listener):
            end.close()


def serve(guests, pipe):
    """Run the server's end in a process: report the received messages, answer the last one."""
    with Router("tcp://127.0.0.1:*", guests, BEAT, largest=100_000) as router:
        pipe.send(int(router.address.rsplit(":", 1)[1]))
        while not pipe.poll():
            if router.poll(0.05) and (received := router.receive()) and received.message:
                pipe.send(received.message.incarnation)
        router.send("a", Begin(1.0))
        router.close(linger=1.0)


@pytest.fixture
def server():
    context = multiprocessing.get_context("spawn")
    guests, secrets = issue(["a"], encrypt=False)
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(guests, theirs))
    process.start()
    yield process, ours, secrets["a"]
    process.kill()
    process.join()


def heard(pipe):
    assert pipe.poll(10.0)
    return pipe.recv()


@pytest.mark.slow
def test_what_a_replaced_connection_still_says_harms_nobody(server):
    process, pipe, secret = server
    port = heard(pipe)
    with closing(Line(port)) as line, Peer(line.address, secret, BEAT) as first:
        first.send(Hello("a", 0))
        assert heard(pipe) == 0
        line.gate.clear()
        first.send(Hello("a", 1))  # under way when the device lost its network
        with Peer(f"tcp://127.0.0.1:{port}", secret, BEAT) as second:
            second.send(Hello("a", 2))
            assert heard(pipe) == 2
            line.gate.set()
            time.sleep(0.5)
            line.reset()
            time.sleep(1.0)  # for some heartbeats
            assert process.exitcode is None
            pipe.send(None)
            assert isinstance(second.receive(5.0), Begin)
    process.join(10.0)
    assert process.exitcode == 0
    assert not pipe.poll()


def test_the_slowest_link_there_is():
    """A timeout of days, which no option of the kernel's can hold."""
    guests, secrets = issue(["a"], encrypt=False)
    patient = Heartbeat.fit(86_400.0)
    with (
        Router("tcp://127.0.0.1:*", guests, patient, largest=100_000) as router,
        Peer(router.address, secrets["a"], patient) as peer,
    ):
        peer.send(Hello("a", 0))
        assert router.poll(5.0) and router.receive()


@pytest.mark.slow
def test_a_long_timeout_is_kept():
    """A connection on a very slow link, which takes minutes for a frame, is not given up early."""
    guests, secrets = issue(["a"], encrypt=False)
    patient = Heartbeat(interval=0.2, timeout=66.0)  # in 16 bits 464 ms
    with (
        Router("tcp://127.0.0.1:*", guests, patient, largest=100_000) as router,
        closing(Line(int(router.address.rsplit(":", 1)[1]))) as line,
        Peer(line.address, secrets["a"], patient) as peer,
    ):
        peer.send(Hello("a", 0))
        assert router.poll(5.0) and router.receive()
        time.sleep(0.5)
        line.gate.clear()  # silence, but the connection stays
        time.sleep(1.0)
        assert router.send("a", Begin(1.0))
        line.gate.set()
        assert isinstance(peer.receive(5.0), Begin)
