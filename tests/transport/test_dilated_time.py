"""A fleet on loopback in a world that is played four times slower: all its times are emulated."""

import io
import json
import threading
import time
from random import Random
from typing import Any

import numpy as np
import pytest
import zmq

from emulator.codecs import Dense, EncoderContext, encoder
from emulator.core.server.parameters import Parameters
from emulator.core.wire.messages import Hello, ModelReply
from emulator.core.worker.worker import Compute, worker
from emulator.core.zmtp import Heartbeat
from emulator.log.lines import RunLog
from emulator.modulation import Constant
from emulator.shaping.hold import Hold
from emulator.synchronization import Asynchronous
from emulator.transport import node_driver, server_driver
from emulator.transport.inbox import Inbox
from emulator.transport.peer import Peer
from emulator.transport.router import Router
from emulator.transport.secrets import issue
from emulator.transport.work import Work
from emulator.units import Seconds
from emulator.vectors import Vector
from emulator.world.emulated_clock import EmulatedClock
from emulator.world.stop_conditions import Stop
from tests.fakes.core.made_server import made_server
from tests.fakes.line_learner import Line

pytestmark = [pytest.mark.timed, pytest.mark.slow, pytest.mark.timeout(60)]

SLOW = EmulatedClock(4)
BEAT = Heartbeat()
WAY, COMPUTE, STOP = 0.03, 0.02, 0.5
"""Emulated seconds: a message's way, a gradient, and the run."""
LATE = 0.03
"""Emulated seconds by which a busy host may be late."""


class Slow(Line):
    """A learner that waits for a core."""

    def gradient(self, weights: Vector) -> tuple[Vector, float]:
        time.sleep(4 * COMPUTE)
        return super().gradient(weights)


def _hold() -> Hold[Any]:
    return Hold(Seconds(WAY), Seconds(0), Random(1))


def test_the_log_of_a_dilated_run_is_in_emulated_seconds() -> None:
    guests, secrets = issue(["a"], encrypt=False)
    line, sink, began = Slow("a"), io.BytesIO(), time.monotonic()
    with Router("tcp://127.0.0.1:*", guests, BEAT, largest=100_000, clock=SLOW) as router:
        server = made_server(
            Parameters(line.initial(0), 0.02, Constant().start(line.layout)),
            layout=line.layout,
            codec=Dense(),
            synchronizer=Asynchronous().start(frozenset("a")),
            workers="a",
            evaluator=None,
            stop=Stop(time=STOP),
            log=RunLog(sink),
            now=SLOW.now(),
        )

        def work() -> None:
            place = EncoderContext(line.layout, np.random.default_rng(0))
            made = encoder(Dense(), place, error_feedback=False)
            coroutine = worker("a", 0, made, line.layout.size, 5.0, ModelReply)
            with Peer(router.address, secrets["a"], BEAT, clock=SLOW) as peer:
                node_driver.run(coroutine, peer, Work(line, SLOW), inbox=Inbox(peer, _hold()))

        thread = threading.Thread(target=work)
        thread.start()
        server_driver.serve(server, router, holds={"a": _hold()})
        thread.join(10)
        assert not thread.is_alive()
    records = [json.loads(raw) for raw in sink.getvalue().splitlines()]
    updates = [record for record in records if record["what"] == "update"]
    stop = records[-1]
    assert stop["what"] == "stop" and STOP <= stop["at"] < STOP + LATE
    assert time.monotonic() - began >= 4 * STOP
    cycle = 2 * WAY + COMPUTE  # a pull and a model travel; the update travels with the next pull
    assert 0.5 * STOP / (cycle + LATE) <= len(updates) <= STOP / cycle
    for record in updates:
        assert COMPUTE <= record["compute"] < COMPUTE + LATE


def test_time_outs_of_sockets_are_emulated() -> None:
    guests, secrets = issue(["a"], encrypt=False)
    with (
        Router("tcp://127.0.0.1:*", guests, BEAT, largest=1000, clock=SLOW) as router,
        Peer(router.address, secrets["a"], BEAT, clock=SLOW) as peer,
    ):
        for wait in (lambda: router.poll(0.05), lambda: peer.receive(0.05)):
            began = time.monotonic()
            assert not wait()
            assert 0.19 <= time.monotonic() - began < 1.0
        peer.send(Hello("a", 0))
        assert router.poll(5.0)
        router.receive()
        began = time.monotonic()
        assert Inbox(peer, None).next(0.05) is None
        assert 0.19 <= time.monotonic() - began < 1.0


def test_a_message_arrives_by_the_emulated_clock() -> None:
    guests, secrets = issue(["a"], encrypt=False)
    with (
        Router("tcp://127.0.0.1:*", guests, BEAT, largest=1000, clock=SLOW) as router,
        Peer(router.address, secrets["a"], BEAT, clock=SLOW) as peer,
    ):
        peer.send(Hello("a", 0))
        assert router.poll(5.0)
        router.receive()
        began, inbox = SLOW.now(), Inbox(peer, _hold())
        assert router.send("a", ModelReply(1, 1, np.zeros(10, np.float32)))
        delivery = inbox.next(5.0)
        assert delivery is not None
        assert WAY <= delivery.at - began < WAY + LATE
        assert SLOW.now() - began >= WAY


def _work(seconds: float) -> None:
    """Keep a core busy."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


class Busy:
    """A server that works for 50 ms before it answers, and is over then."""

    over = False

    def deadline(self) -> None:
        return None

    def tick(self, now: float) -> list[Any]:
        return []

    def handle(self, node: str, message: Any, now: float) -> list[Any]:
        _work(0.05)
        self.over = True
        return [(node, ModelReply(1, 1, np.zeros(10, np.float32)))]


def test_the_server_works_at_the_pace_of_the_run() -> None:
    guests, secrets = issue(["a"], encrypt=False)
    with (
        Router("tcp://127.0.0.1:*", guests, BEAT, largest=1000, clock=SLOW) as router,
        Peer(router.address, secrets["a"], BEAT, clock=SLOW) as peer,
    ):
        began, server = time.monotonic(), Busy()
        peer.send(Hello("a", 0))
        server_driver.serve(server, router)  # type: ignore[arg-type]
        assert time.monotonic() - began >= 4 * 0.05
        assert peer.receive(5.0) is not None


def test_a_gradient_takes_as_long_as_on_a_core() -> None:
    class Working(Line):
        def gradient(self, weights: Vector) -> tuple[Vector, float]:
            _work(0.05)
            return weights, 0.0

    began, line = time.monotonic(), Working("a")
    theta = line.initial(0)
    computed = Work(line, SLOW).do(Compute(ModelReply(1, 1, theta)))
    # the work is measured by another clock
    assert 0.049 <= computed.seconds < 0.05 + LATE
    assert time.monotonic() - began >= 4 * 0.05


def test_heartbeats_and_reconnections_are_slower_in_real_time() -> None:
    guests, secrets = issue(["a"], encrypt=False)
    with Router("tcp://127.0.0.1:*", guests, BEAT, largest=1000, clock=SLOW) as router:
        options = {
            zmq.TCP_KEEPALIVE_IDLE: 40,
            zmq.TCP_KEEPALIVE_INTVL: 8,
        }
        assert {name: router._socket.getsockopt(name) for name in options} == options
        with Peer(router.address, secrets["a"], BEAT, clock=SLOW) as peer:
            options = {
                zmq.HEARTBEAT_IVL: 8_000,
                zmq.HEARTBEAT_TIMEOUT: 40_000,
                zmq.HEARTBEAT_TTL: 40_000,
                zmq.CONNECT_TIMEOUT: 20_000,
                zmq.RECONNECT_IVL: 400,
                zmq.RECONNECT_IVL_MAX: 8_000,
            }
            assert {name: peer._socket.getsockopt(name) for name in options} == options
