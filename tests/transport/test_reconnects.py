"""A device whose connection died in a cut asks again as soon as it has a new one."""

import io
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.codecs import EncoderContext, TopK, encoder
from emulator.core.server.parameter_server import ParameterServer
from emulator.core.server.parameters import Parameters
from emulator.core.wire.messages import Begin, Hello, ModelReply, Pull
from emulator.core.worker.worker import worker
from emulator.core.zmtp import Heartbeat
from emulator.log.lines import RunLog
from emulator.modulation import PerParameter
from emulator.synchronization import Asynchronous
from emulator.transport import node_driver, server_driver
from emulator.transport.inbox import Inbox
from emulator.transport.peer import Peer
from emulator.transport.router import Router
from emulator.transport.secrets import Secret, issue
from emulator.transport.work import Work
from emulator.units import Fraction
from emulator.world.stop_conditions import Stop
from tests.fakes.core.made_server import made_server
from tests.fakes.line_learner import Line
from tests.fakes.virtual_world import played

BEAT = Heartbeat(interval=0.1, timeout=0.6)
CUT = 1.2
"""Seconds, twice the heartbeat's."""
PATIENCE = 30.0
pytestmark = pytest.mark.timeout(60)


class Wire:
    """A TCP forwarder that holds everything back while it is cut."""

    def __init__(self, port: int) -> None:
        self.whole = threading.Event()
        self.whole.set()
        self._port, self._ends, self._threads = port, [], []  # type: ignore[var-annotated]
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        self._start(self._accept)

    def _start(self, work: Callable[..., None], *arguments: Any) -> None:
        self._threads.append(threading.Thread(target=work, args=arguments))
        self._threads[-1].start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self._ends.append(near)
                self.whole.wait()
                far = socket.create_connection(("127.0.0.1", self._port))
                self._ends.append(far)
                self._start(self._forward, near, far)
                self._start(self._forward, far, near)

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self.whole.wait()
                sink.sendall(data)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.whole.set()
        for end in (self._listener, *self._ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for end in (self._listener, *self._ends):
            end.close()


@contextmanager
def wired(guests: Any) -> Iterator[tuple[Router, Wire]]:
    with Router("tcp://127.0.0.1:*", guests, BEAT, largest=100_000) as router:
        wire = Wire(int(router.address.rsplit(":", 1)[1]))
        try:
            yield router, wire
        finally:
            wire.close()


def cut(wire: Wire) -> None:
    wire.whole.clear()
    time.sleep(CUT)
    wire.whole.set()


def eventually(true: Callable[[], bool], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if true():
            return True
        time.sleep(0.02)
    return False


def heard(router: Router, seconds: float = 5.0) -> Any:
    """Return the next message that comes in within `seconds`, or None."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if router.poll(0.1) and (received := router.receive()) and received.message:
            return received.message
    return None


@pytest.mark.slow
def test_a_lost_answer_is_given_up_with_its_connection() -> None:
    guests, secrets = issue(["a"], encrypt=False)
    with wired(guests) as (router, wire), Peer(wire.address, secrets["a"], BEAT) as peer:
        inbox = Inbox(peer, None)
        peer.send(Hello("a", 0))
        assert heard(router)
        wire.whole.clear()
        router.send("a", Begin(1.0))  # never arrives
        threading.Timer(CUT, wire.whole.set).start()
        began = time.monotonic()
        assert inbox.next(PATIENCE) is None
        assert time.monotonic() - began < CUT + 3.0
        peer.send(Hello("a", 0))
        assert heard(router)
        router.send("a", Begin(2.0))
        delivery = inbox.next(PATIENCE)
        assert delivery and isinstance(delivery.message, Begin) and delivery.message.zero == 2.0


@pytest.mark.slow
def test_a_question_that_waits_for_a_connection_is_not_asked_twice() -> None:
    guests, secrets = issue(["a"], encrypt=False)
    with wired(guests) as (router, wire), Peer(wire.address, secrets["a"], BEAT) as peer:
        inbox = Inbox(peer, None)
        peer.send(Hello("a", 0))
        assert heard(router)
        wire.whole.clear()
        assert eventually(lambda: peer.receive(0.1) is None and not peer.connected, 5.0)
        peer.send(Pull("a", 1))
        threading.Timer(CUT, wire.whole.set).start()
        assert inbox.next(CUT / 2) is None  # of patience, which counts from when it has left
        assert peer.connected and not peer.lost
        assert isinstance(heard(router), Pull)
        assert heard(router, 0.5) is None


def work(coroutine: Any, wire: Wire, secret: Secret) -> None:
    with Peer(wire.address, secret, BEAT) as peer:
        node_driver.run(coroutine, peer, Work(Line("a")))


def goes_on(server: ParameterServer) -> bool:
    """Whether five updates come within three seconds."""
    goal = server.version + 5
    return eventually(lambda: server.version >= goal, 3.0)


@pytest.mark.slow
def test_training_goes_on_at_once_after_each_cut() -> None:
    line, sink, over = Line("truth"), io.BytesIO(), threading.Event()
    guests, secrets = issue(["a"], encrypt=False)
    codec = TopK(keep=Fraction(0.2))
    server = made_server(
        Parameters(line.initial(0), 0.0002, PerParameter().start(line.layout)),
        layout=line.layout,
        codec=codec,
        synchronizer=Asynchronous().start(frozenset("a")),
        workers="a",
        evaluator=None,
        stop=Stop(time=50.0),
        log=RunLog(sink),
        now=time.monotonic(),
    )
    place = EncoderContext(line.layout, np.random.default_rng(0))
    coroutine = worker(
        "a", 0, encoder(codec, place, error_feedback=True), 1000, PATIENCE, ModelReply
    )

    with wired(guests) as (router, wire):
        working = threading.Thread(target=work, args=(coroutine, wire, secrets["a"]))
        serving = threading.Thread(
            target=server_driver.serve,
            args=(server, router),
            kwargs={"canceled": lambda: "canceled" if over.is_set() else ""},
        )
        working.start()
        serving.start()
        try:
            assert goes_on(server)
            for _ in range(3):
                cut(wire)
                assert goes_on(server)
        finally:
            over.set()
            serving.join()
            working.join()
    records = [json.loads(raw) for raw in sink.getvalue().splitlines()]
    assert "refused" not in {record["what"] for record in records}
    assert [r["version"] for r in records if r["what"] == "update"] == [
        *range(1, server.version + 1)
    ]


CUTS = """
# How long are devices silent after a cut that outlasts their connections?
name: cuts
seed: 3
training: {dataset: digits, model: digits-mlp, batch_size: 8, algorithm: adacomp}
evaluate: {every: 100000}
stop: {time: 40s}
virtual: {learner: numpy, step: {lognormal: [20ms, 0.2]}, boot: 50ms}
devices:
  - name: adsl
    count: 6
    profile: raspberry-pi-4
    link: {up: {rate: 1mbit, delay: 25ms, jitter: 3ms}, down: {rate: 8mbit, delay: 25ms}}
faults:
""" + "".join(
    f"  - {{kind: partition, nodes: [adsl-{i}], at: {5 + 0.11 * i:.2f}s, lasts: 15s}}\n"
    for i in range(6)
)


@pytest.mark.slow
def test_in_virtual_time_too(tmp_path: Path) -> None:
    _, _, view = played(tmp_path, text=CUTS)
    assert sum(record["what"] == "mend" for record in view.records) == 6
    for mend in [record for record in view.records if record["what"] == "mend"]:
        own = [r for r in view.records if r.get("node") == mend["node"] and r["at"] >= mend["at"]]
        update = next(record for record in own if record["what"] == "update")
        assert update["at"] - mend["at"] < 2.0
        pulls = [r for r in own if r["what"] == "pull" and r["at"] < update["at"]]
        assert len(pulls) == 1
