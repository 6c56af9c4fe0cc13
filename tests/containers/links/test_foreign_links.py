"""`emulate link`: losses, forced means, and a container that is as it was before once it is undone.

Delays and rates are measured in test_packets.py. What a container loses is counted here, not timed.
"""

import json

import pytest

from emulator.runtimes.docker.engine import probing
from emulator.runtimes.docker.images import node_image
from emulator.runtimes.docker.network import link_removal
from tests.containers.conftest import until

pytestmark = [pytest.mark.docker, pytest.mark.timeout(180)]

COUNT = 400
"""Datagrams of a look."""
LOSS = 0.3
ECHO = """
import socket
line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
line.bind(("", 7000))
while True:
    line.sendto(*line.recvfrom(100))
"""
ASK = """
import json, socket, time
line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
line.connect(("{host}", 7000))
back = []
for number in range({count}):
    line.send(b"%d" % number)
    line.settimeout(0.002 if number < {count} - 1 else 0.5)
    try:
        while True:
            back.append(int(line.recv(100)))
    except OSError:  # nothing comes, or nobody listens yet
        pass
print(json.dumps(sorted(back)))
"""
NETWORK = "ip -details address; ip route; tc qdisc; tc filter show dev eth0"
QUEUE = " qlen 1000"
"""Of an interface that had none: the kernel sets it with the first qdisc, without an effect."""


@pytest.fixture
def pair(client):
    """Two containers of no run on the engine's own network; one sends back what it gets."""
    image = node_image.require(client).id
    common = {"image": image, "detach": True, "cap_drop": ["ALL"], "auto_remove": True}
    made = [
        client.containers.run(entrypoint=["python3", "-c", ECHO], **common),
        client.containers.run(entrypoint=["sleep", "600"], **common),
    ]
    yield made
    for container in made:
        if run := link_removal.linked(client, container.name):
            link_removal.remove_link(client, run)
        container.kill()


def said(container, script: str) -> str:
    code, output = container.exec_run(["python3", "-c", script])
    assert code == 0, output
    return output.decode()


def echoed(pair) -> set[int]:
    """Return the numbers of the datagrams that come back to the other container."""
    foreign, other = pair
    foreign.reload()
    (network,) = foreign.attrs["NetworkSettings"]["Networks"].values()
    return set(json.loads(said(other, ASK.format(host=network["IPAddress"], count=COUNT))))


def described(client, container) -> tuple[str, dict]:
    """Return the network as `container` sees it, and all that the engine says of the container."""
    about = client.api.inspect_container(container.id)
    code, output = container.exec_run(["sh", "-c", NETWORK])
    assert code == 0, output
    return output.decode().replace(QUEUE, "").replace(" \n", "\n"), {
        key: about[key] for key in about if key != "ExecIDs"
    }


def test_a_container_loses_packets_and_is_as_before_once_its_link_has_gone(client, emulate, pair):
    foreign, _ = pair
    words = ("link", foreign.name, "--up", f"{{rate: 50mbit, loss: {LOSS:.0%}}}", "--seed", "3")
    before = described(client, foreign)
    assert "qdisc" in before[0] and "inet" in before[0]
    assert echoed(pair) == set(range(COUNT))

    def look() -> set[int]:
        assert f"emulate link {foreign.name} --remove" in emulate(*words).stdout
        found = echoed(pair)
        assert described(client, foreign)[1] == before[1]  # the container is not changed
        return found

    first = look()
    undone = emulate("link", foreign.name, "--remove").stdout
    assert undone == f"link: {foreign.name} has its own network back\n"
    assert described(client, foreign) == before
    assert echoed(pair) == set(range(COUNT))
    assert abs(len(first) / COUNT - (1 - LOSS)) < 0.1
    assert look() == first  # a repetition loses the same packets
    # once it is started again it has no link; the other one knows its address from before
    foreign.restart(timeout=0)
    until(lambda: len(echoed(pair)) == COUNT, 60)
    gone = emulate("link", foreign.name, "--remove").stdout
    assert f"{foreign.name} was started again since, with its own network" in gone
    assert not link_removal.linked(client, foreign.name)


def test_a_means_that_the_kernel_or_a_link_lacks_is_refused_and_changes_nothing(
    client, emulate, pair
):
    foreign, _ = pair
    before = described(client, foreign)
    features = probing.probe(client, node_image.require(client).id)
    refused = {"receiver": "nobody holds the messages of a foreign container"}
    if not features.netem:
        refused["netem"] = "netem"
    for means, why in refused.items():
        words = ("--up", "{delay: 5ms}", "--shaping", means)
        done = emulate("link", foreign.name, *words, check=False)
        assert done.returncode == 1 and why in done.stderr, done
    assert described(client, foreign) == before
