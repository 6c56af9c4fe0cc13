"""The set-up time of links between containers: does each message keep its link busy for it?"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import requests

from emulator.core import wire
from emulator.core.wire.messages import ModelReply
from emulator.node import config
from emulator.runs import planning
from emulator.runtimes.docker.configs import NodeConfigs, spec
from emulator.runtimes.docker.engine import probing
from emulator.runtimes.docker.engine.cleanup import clean_up
from emulator.runtimes.docker.images import node_image
from emulator.scenario import loads
from emulator.shaping.backend import choose
from emulator.transport.secrets import issue
from emulator.world.links.link import FRAME
from emulator.world.roles import SERVER
from tests.containers.host_pace import judged

pytestmark = [pytest.mark.docker, pytest.mark.timed, pytest.mark.timeout(300)]

NET = "emulate-set-up"
MARKS = {"emulate.run": "set-up"}
BURST = 3
"""Messages behind one another."""
PARAMETERS = 20_000
ATTEMPTS = 3
"""Runs at most: a virtual machine's neighbours may hold up a message."""
RATES = {"up": 20e6, "down": 40e6}

SCENARIO = """
name: set-up
training: {dataset: digits, model: digits-mlp, algorithm: asgd}
stop: {updates: 1}
server: {link: {up: {delay: 5ms, setup: SHARE}, down: {setup: SHARE}}}
devices:
  - name: far
    link: {up: {rate: 20mbit, delay: 10ms, setup: OWN}, down: {rate: 40mbit, setup: OWN}}
"""

SERVING = """
import json, time
import numpy as np
from emulator.core.wire.messages import ModelReply
from emulator.node import config
from emulator.node.part.server_role import _holds
from emulator.shaping.command import apply
from emulator.transport import server_driver
from emulator.transport.router import Router
node = config.read()
apply(node.network.shape)
theta = np.zeros(PARAMETERS, np.float32)
class Server:
    over, arrived = False, []
    def deadline(self): return None
    def tick(self, now): return []
    def handle(self, name, message, now):
        if type(message).__name__ == "Hello":
            return [(name, ModelReply(9, 0, theta[:1]))]      # the device's queues are open
        if type(message).__name__ == "Pull":                  # one or several models, at once
            event = {"way": "down", "sent": time.monotonic(), "of": message.ticket}
            print(json.dumps(event), flush=True)
            return [(name, ModelReply(k, 0, theta)) for k in range(message.ticket)]
        self.arrived.append(now)
        print(json.dumps({"way": "up", "arrived": now}), flush=True)
        self.over = message.version == 99
        return []
with Router(f"tcp://*:{config.PORT}", node.part.guests, node.part.heartbeat, 1_000_000) as router:
    server_driver.serve(Server(), router, holds=_holds(node.part))
"""

LEARNING = """
import json, time
from emulator.core.wire.messages import Hello, Pull, Update
from emulator.node import config
from emulator.node.part.role import _connect, _hold
from emulator.shaping.command import apply
from emulator.transport.inbox import Inbox
node = config.read()
apply(node.network.shape)
connection = node.part.connection
frames = [bytes(4 * PARAMETERS)]
def update(version): return Update("far", version, 0.0, 0.0, frames)
with _connect(connection, node.clock) as peer:
    inbox = Inbox(peer, _hold(connection, 1, "far", 0))
    peer.send(Hello("far", 0))
    inbox.next(30.0)
    for size in (1, 1, BURST, BURST):
        time.sleep(0.5)
        print(json.dumps({"way": "up", "sent": time.monotonic(), "of": size}), flush=True)
        for k in range(size): peer.send(update(k))
        time.sleep(1.0)
        peer.send(Pull("far", size))
        for k in range(size):
            assert inbox.next(5.0)
            print(json.dumps({"way": "down", "arrived": time.monotonic()}), flush=True)
    peer.send(update(99))
    peer.flush(5.0)
"""


@pytest.fixture
def world(client, tmp_path):
    """Play SERVING and LEARNING over links with a set-up time; what both printed, by way."""

    def play(setup: float):
        text = SCENARIO.replace("OWN", f"{setup * 800:g}ms").replace("SHARE", f"{setup * 200:g}ms")
        scenario = loads(text)
        image = node_image.require(client).id
        links = [scenario.server.link, *(device.link for device in scenario.nodes)]
        # no box is started here, so the receiver holds delays where the kernel has no netem
        backend = choose(replace(probing.probe(client, image), tun=False), links)
        guests, secrets = issue(["far", "evaluator"], encrypt=False)
        plan = planning.plan(scenario, {"far": 1437})
        made = NodeConfigs(scenario, plan, PARAMETERS, guests, secrets, backend, 65534)
        client.networks.create(NET, internal=True, labels=MARKS)
        try:
            server = _start(client, tmp_path / "server.json", SERVER, SERVING, made.server(), image)
            server.reload()
            address = server.attrs["NetworkSettings"]["Networks"][NET]["IPAddress"]
            node = made.device(scenario.nodes[0], [address])
            device = _start(client, tmp_path / "far.json", "far", LEARNING, node, image)
            try:
                statuses = [each.wait(timeout=30)["StatusCode"] for each in (device, server)]
            except requests.RequestException:
                statuses = ["time-out"]
            said = b"\n".join(each.logs() for each in (device, server)).decode()
            assert statuses == [0, 0], said
            lines = b"\n".join(each.logs(stderr=False) for each in (device, server)).decode()
        finally:
            clean_up(client, "set-up")
        return [json.loads(line) for line in lines.split("\n") if line]

    return play


def _start(client, file: Path, name: str, script: str, node: config.NodeConfig, image: str):
    config.write(node, file)
    script = script.replace("PARAMETERS", str(PARAMETERS)).replace("BURST", str(BURST))
    wanted = spec.Container(name, image, NET, MARKS, {str(config.PATH): file})
    kwargs = {**spec.container(wanted), "entrypoint": ["python3", "-c", script], "command": []}
    kwargs |= {"log_config": {"Type": "json-file", "Config": {}}, "auto_remove": False}
    container = client.containers.create(**kwargs)
    container.start()
    return container


@pytest.mark.parametrize("setup", [0.0, pytest.param(0.01, marks=pytest.mark.thorough), 0.05])
def test_each_message_keeps_its_direction_busy(world, setup):
    """Within 2 ms and 3 %, up and down, one message and several behind one another.

    The server's set-up and the device's add up, as do the delays: 15 ms there, 5 ms back.
    """
    judged(
        lambda: world(setup),
        lambda events, longer: not _astray(events, setup, longer),
        ATTEMPTS,
    )


def _astray(events: list[dict], setup: float, longer: float) -> list[str]:
    """Return a line for each message that arrived beyond the bound; print all.

    `longer` is the factor by which the host made transfers longer meanwhile.
    """
    astray = []
    size = wire.size(ModelReply(1, 0, np.zeros(PARAMETERS, np.float32)))
    for way, delay in (("up", 0.010), ("down", 0.005)):
        sent = [event for event in events if event["way"] == way and "sent" in event]
        arrived = sorted(e["arrived"] for e in events if e["way"] == way and "arrived" in e)
        first, *rest = sent  # TCP's window has not opened before the first
        assert first["of"] == 1
        for event in rest:
            after = [at for at in arrived if at > event["sent"]][: event["of"]]
            for number, at in enumerate(after, 1):
                expected = number * (setup + size * 8 * FRAME / RATES[way]) + delay
                actual = at - event["sent"]
                line = (
                    f"{way} {number} of {event['of']}: {actual * 1e3:.1f} ms, {expected * 1e3:.1f}"
                )
                print(line)
                bound = 0.002 + 0.03 * expected
                if not expected - bound < actual < longer * expected + bound:
                    astray.append(line)
    return astray
