"""The goodbye of a device's process, over real sockets: at once, whatever the process does."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from emulator.core.wire.messages import Hello, Leave, Pull
from emulator.core.zmtp import Heartbeat
from emulator.transport.router import Router
from emulator.transport.secrets import Token, issue

pytestmark = pytest.mark.timeout(60)

DEVICE = """
import sys, time
import numpy as np
from emulator.codecs import Dense, StatelessEncoder
from emulator.core.zmtp import Heartbeat
from emulator.core.wire.messages import ModelReply
from emulator.core.worker.worker import worker
from emulator.layout import Layout, Variable
from emulator.node.config import GOODBYE
from emulator.transport import node_driver
from emulator.transport.work import Work
from emulator.transport.node_driver import Farewell
from emulator.transport.peer import Peer
from emulator.transport.secrets import Token

class Slow:
    def gradient(self, theta):
        print("computes", flush=True)
        time.sleep(30)

address, token = sys.argv[1:]
layout = Layout((Variable("w", (4,), "dense", 0),))
with Peer(address, Token("a", token), Heartbeat()) as peer:
    encoder = StatelessEncoder(Dense(), layout)
    coroutine = worker("a", 0, encoder, 4, 30.0, ModelReply)
    computing = Farewell("a", peer, GOODBYE).computing
    node_driver.run(coroutine, peer, Work(Slow()), computing=computing)
"""


@pytest.fixture
def world() -> Iterator[tuple[Router, "subprocess.Popen[str]"]]:
    guests, secrets = issue(("a",), encrypt=False)
    secret = secrets["a"]
    assert isinstance(secret, Token)
    with Router("tcp://127.0.0.1:*", guests, Heartbeat(), largest=100_000) as router:
        command = [sys.executable, "-c", DEVICE, router.address, secret.token]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        yield router, process
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


def hear(router: Router) -> object:
    assert router.poll(20)
    received = router.receive()
    assert received
    return received.message


def leaves_at_once(router: Router, process: "subprocess.Popen[str]") -> None:
    began = time.monotonic()
    process.send_signal(signal.SIGUSR2)
    message = hear(router)
    assert isinstance(message, Leave) and message.node == "a"
    assert process.wait(timeout=10) == 0
    assert time.monotonic() - began < 2


@pytest.mark.slow
def test_a_device_that_waits_says_goodbye(world: tuple[Router, "subprocess.Popen[str]"]) -> None:
    router, process = world
    assert isinstance(hear(router), Hello)
    leaves_at_once(router, process)


@pytest.mark.slow
def test_a_device_that_computes_says_goodbye(
    world: tuple[Router, "subprocess.Popen[str]"],
) -> None:
    import numpy as np

    from emulator.core.wire.messages import Begin, ModelReply

    router, process = world
    assert isinstance(hear(router), Hello)
    router.send("a", Begin(0.0))
    pull = hear(router)
    assert isinstance(pull, Pull)
    router.send("a", ModelReply(pull.ticket, 0, np.zeros(4, np.float32)))
    assert process.stdout
    assert process.stdout.readline() == "computes\n"
    leaves_at_once(router, process)
