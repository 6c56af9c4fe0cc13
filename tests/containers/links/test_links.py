"""Bulk transfers between a device's container and the server's: is the rate what was asked for?"""

from typing import NamedTuple

import msgspec
import pytest

from emulator.node.config import PATH, Network
from emulator.runtimes.docker.configs import spec
from emulator.runtimes.docker.engine import probing
from emulator.runtimes.docker.engine.cleanup import clean_up
from emulator.runtimes.docker.images import node_image
from emulator.shaping import access
from emulator.shaping.backend import choose
from emulator.units import Rate
from emulator.world.links.link import FRAME, Link, Side
from tests.containers.host_pace import judged_each

pytestmark = [pytest.mark.docker, pytest.mark.timed, pytest.mark.timeout(180)]
RATES = {"radio": 0.25e6, "slow": 1e6, "middle": 10e6, "fast": 50e6, "fibre": 100e6}
SECONDS = 4
"""About how long each transfer takes."""
MOST = 1.05
"""Largest factor by which the host excuses a link: it may be the box that is busy."""

COMMON = """
import socket, threading, time
def cubic(line):
    # a container starts with the host's choice, and this is a test of links, not of BBR
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    return line
def drain(line, name):
    total, began = 0, None
    while data := line.recv(1 << 16):
        last = time.monotonic()
        if began is None:
            began, data = last, b""      # the first piece starts the clock
        total += len(data)
    print(name, 8 * total / (last - began), flush=True)
    line.close()
def fill(line, size):
    line.sendall(bytes(size))
    line.shutdown(socket.SHUT_WR)
    line.recv(1)                         # what is under way dies with its container's network
"""

SERVER = """
def serve(name, port, size):
    with socket.create_server(("", port)) as listening:
        line, _ = listening.accept()         # up first, then down: else the acknowledgements of
        drain(line, name + "-up")            # one direction take their share of the other
        line, _ = listening.accept()
        fill(cubic(line), size)
threads = [threading.Thread(target=serve, args=one) for one in WORLD]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""

DEVICE = """
import msgspec
from emulator.node.config import Network
from emulator.shaping.command import apply
apply(msgspec.json.decode(open(CONFIG).read(), type=Network).shape)
def connect():
    while True:
        try:
            return socket.create_connection((HOST, PORT))
        except ConnectionRefusedError:
            time.sleep(0.1)
fill(cubic(connect()), SIZE)
drain(connect(), NAME + "-down")
"""


def script(text, **names):
    for name, value in names.items():
        text = text.replace(name, repr(value))
    return ["python3", "-c", COMMON + text]


def start(client, folder, net, name, entrypoint, link):
    backend = choose(probing.probe(client, node_image.require(client).id), [link])
    file = folder / f"{name}.json"
    file.write_bytes(msgspec.json.encode(Network(shape=access.shape(link, backend))))
    labels = {"emulate.run": "links"}
    wanted = spec.Container(name, node_image.require(client).id, net, labels, {str(PATH): file})
    kwargs = {**spec.container(wanted), "entrypoint": entrypoint, "command": []}
    kwargs |= {"log_config": {"Type": "json-file", "Config": {}}, "auto_remove": False}
    container = client.containers.create(**kwargs)
    container.start()
    return container


def size(rate):
    return int(rate / FRAME / 8 * SECONDS)


def test_goodput_is_what_the_rate_leaves(client, ours, tmp_path):
    """TCP loses the last of what it sends now and then, and that takes time."""
    judged_each(
        lambda links: measure(client, tmp_path, links),
        RATES,
        lambda found, longer: min(found.up, found.down) * min(longer, MOST) > 0.97,
    )


class Goodput(NamedTuple):
    """A link's goodput up and down, as shares of what its rate leaves to TCP."""

    link: str
    up: float
    down: float


def measure(client, tmp_path, links):
    """Return the goodput of each of `links`, all busy at once."""
    net = "emulate-links"
    client.networks.create(net, internal=True, labels={"emulate.run": "links"})
    ports = {name: 6000 + number for number, name in enumerate(RATES)}
    world = [(name, ports[name], size(RATES[name])) for name in links]
    try:
        server = start(client, tmp_path, net, "sink", script(SERVER, WORLD=world), Link())
        server.reload()
        host = server.attrs["NetworkSettings"]["Networks"][net]["IPAddress"]
        devices = []
        for name in links:
            rate = RATES[name]
            facts = {"CONFIG": str(PATH), "HOST": host, "PORT": ports[name], "NAME": name}
            code = script(DEVICE, SIZE=size(rate), **facts)
            side = Side(rate=Rate(rate))
            devices.append(start(client, tmp_path, net, name, code, Link(side, side)))
        for container in (*devices, server):
            assert container.wait(timeout=60)["StatusCode"] == 0, container.logs().decode()
        said = b"".join(container.logs() for container in (server, *devices)).decode()
    finally:
        clean_up(client, "links")
    measured = {name: float(rate) for name, rate in map(str.split, said.splitlines())}
    assert len(measured) == 2 * len(links)
    shares = {key: bits / (RATES[key.split("-")[0]] / FRAME) for key, bits in measured.items()}
    found = [Goodput(name, shares[f"{name}-up"], shares[f"{name}-down"]) for name in links]
    assert max(shares.values()) < 1.03, found
    return found
