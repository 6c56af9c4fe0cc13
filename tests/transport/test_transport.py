"""The same core over real sockets on loopback: who gets in, and a whole run in threads."""

import io
import json
import threading
import time
from contextlib import ExitStack

import numpy as np
import pytest
import zmq

from emulator.codecs import EncoderContext, TopK, encoder
from emulator.core.server.parameters import Parameters
from emulator.core.wire.messages import Begin, Hello, ModelReply
from emulator.core.worker.worker import evaluator, worker
from emulator.core.zmtp import Heartbeat
from emulator.log.lines import RunLog
from emulator.modulation import PerParameter
from emulator.pulls import Delta, HeldModel, WholeModel
from emulator.synchronization import Asynchronous
from emulator.transport import node_driver, server_driver
from emulator.transport.peer import Peer
from emulator.transport.router import Router
from emulator.transport.secrets import KeyPair, issue
from emulator.transport.work import Work
from emulator.units import Fraction
from emulator.world.stop_conditions import Stop
from tests.fakes.core.made_server import made_server
from tests.fakes.core.server_world import World
from tests.fakes.line_learner import Line

NAMES = ("a", "b", "evaluator")
BEAT = Heartbeat()
pytestmark = pytest.mark.timeout(60)


@pytest.fixture(params=[False, True], ids=["plain", "curve"])
def encrypt(request):
    return request.param


@pytest.fixture
def secrets(encrypt):
    return issue(NAMES, encrypt=encrypt)


@pytest.fixture
def router(secrets):
    with Router("tcp://127.0.0.1:*", secrets[0], BEAT, largest=100_000) as router:
        yield router


def hear(router, seconds=2.0):
    """The next message that comes in within `seconds`, or None."""
    return router.receive() if router.poll(seconds) else None


def peer(router, secret):
    return Peer(router.address, secret, BEAT)


def test_members_are_heard_and_answered(router, secrets):
    with peer(router, secrets[1]["a"]) as member:
        member.send(Hello("a", 0))
        received = hear(router)
        assert (received.node, received.message.node, received.error) == ("a", "a", "")
        theta = np.arange(1000, dtype=np.float32)
        assert router.send("a", ModelReply(3, 7, theta))
        model = member.receive(2.0)
        assert (model.ticket, model.version) == (3, 7)
        assert (model.theta == theta).all()


def test_silence_is_none(router, secrets):
    with peer(router, secrets[1]["a"]) as member:
        assert member.receive(0.05) is None
    assert not router.poll(0.01)
    assert router.receive() is None


def test_who_is_not_on_the_list_is_not_heard(router, secrets, encrypt):
    """Wrong token or unknown key, no secret at all, or the other mechanism: no message gets in."""
    _, held = issue(["a"], encrypt=encrypt)
    other = issue(["a"], encrypt=not encrypt)[1]["a"]
    wrong = held["a"]
    if isinstance(wrong, KeyPair):  # it knows the server's public key, as anyone may
        wrong = KeyPair(wrong.public, wrong.private, secrets[1]["a"].server)
    with ExitStack() as strangers:
        for secret in (wrong, other, None):
            strangers.enter_context(peer_with(router, secret)).send(Hello("a", 0))
        assert hear(router, 0.5) is None
    with peer(router, secrets[1]["a"]) as member:  # the real one still gets through
        member.send(Hello("a", 0))
        assert hear(router).node == "a"


class Bare:
    """A peer without any mechanism."""

    def __init__(self, router):
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.DEALER)
        self._socket.connect(router.address)

    def send(self, message):
        self._socket.send(b"anything")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._context.destroy(linger=0)


def peer_with(router, secret):
    return Bare(router) if secret is None else peer(router, secret)


def test_a_member_cannot_speak_for_another(router, secrets):
    with peer(router, secrets[1]["a"]) as member:
        member.send(Hello("b", 0))
        assert "speaks for 'b'" in hear(router).error


def test_rubbish_is_reported_and_what_follows_is_heard(router, secrets):
    with peer(router, secrets[1]["a"]) as member:
        for frames in ([b"rubbish"], [b""] * 50, [b"\x93" * 9]):
            member._socket.send_multipart(frames)
            received = hear(router)
            assert received.node == "a" and received.error
        member.send(Hello("a", 0))
        assert hear(router).error == ""


def test_a_node_that_is_not_there_is_out_of_reach(router):
    assert not router.send("a", Begin(0.0))


def test_what_cannot_be_sent_is_no_refusal_of_a_peers_message(router):
    """The end of a run finds nobody: its four goodbyes are the server's own."""
    world = World()
    world.begin()
    server_driver.serve(world.server, router, canceled=lambda: "canceled")
    assert world.said("refused") == []
    assert [record["node"] for record in world.said("unsent")] == ["a", "b", "c", "evaluator"]
    assert {(r["message"], r["bytes"]) for r in world.said("unsent")} == {("bye", 4)}


def test_a_restarted_node_takes_over_its_name(router, secrets):
    with peer(router, secrets[1]["a"]) as first:
        first.send(Hello("a", 0))
        assert hear(router).node == "a"
        with peer(router, secrets[1]["a"]) as second:
            second.send(Hello("a", 1))
            assert hear(router).message.incarnation == 1
            assert router.send("a", Begin(1.0))
            assert isinstance(second.receive(2.0), Begin)


@pytest.mark.slow
@pytest.mark.parametrize("pull", [WholeModel(), Delta(), WholeModel("f16")])
def test_a_whole_run_on_sockets(router, secrets, pull):
    """Two workers, an evaluator and the server in threads: they learn, count and end alone."""
    line = Line("truth")
    sink = io.BytesIO()
    codec = TopK(keep=Fraction(0.2))
    server = made_server(
        Parameters(line.initial(0), 0.02, PerParameter().start(line.layout)),
        layout=line.layout,
        codec=codec,
        synchronizer=Asynchronous().start(frozenset("ab")),
        workers="ab",
        evaluator="evaluator",
        every=100,
        stop=Stop(updates=300, time=30.0),
        log=RunLog(sink),
        now=time.monotonic(),
        pulls=pull.start(line.layout),
    )

    class Judge:
        def evaluate(self, weights):
            return 0.5, float(np.square(weights).mean())

    def work(name):
        place = EncoderContext(line.layout, np.random.default_rng(0))
        coroutine = worker(
            name, 0, encoder(codec, place, error_feedback=True), 1000, 5.0, ModelReply
        )
        with peer(router, secrets[1][name]) as member:
            held = None if pull == WholeModel() else HeldModel(pull.values, line.layout)
            node_driver.run(coroutine, member, Work(Line(name)), held_model=held)

    def judge():
        with peer(router, secrets[1]["evaluator"]) as member:
            node_driver.run(evaluator("evaluator", 0, 1000, 5.0), member, Work(Judge()))

    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    threads.append(threading.Thread(target=judge))
    for thread in threads:
        thread.start()
    server_driver.serve(server, router)
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    records = [json.loads(raw) for raw in sink.getvalue().splitlines()]
    updates = [record for record in records if record["what"] == "update"]
    assert len(updates) == 300 == server.version
    assert {record["node"] for record in updates} == {"a", "b"}
    losses = [record["loss"] for record in updates]
    assert np.mean(losses[-20:]) < 0.5 * np.mean(losses[:20])
    assert {r["version"] for r in records if r["what"] == "evaluation"} == {0, 100, 200, 300}
    assert records[-1]["what"] == "stop" and records[-1]["reason"] == "updates"
    pulled = sum(r["bytes"] for r in records if r["what"] == "pull" and r["node"] != "evaluator")
    whole = 301 * (4 * line.layout.size)
    assert (pulled < 0.75 * whole) == (pull != WholeModel())
