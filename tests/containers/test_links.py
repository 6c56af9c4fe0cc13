"""Bulk transfers between a device's container and the server's: is the rate what was asked for?"""

import json

import msgspec
import pytest

from emulator.link import FRAME, Link, Side
from emulator.node.config import PATH, Network
from emulator.runtimes.docker import image, probing, spec
from emulator.shaping import access
from emulator.shaping.backend import choose
from emulator.units import Rate

pytestmark = [pytest.mark.docker, pytest.mark.timeout(120)]
RATES = {"slow": 1e6, "middle": 8e6, "fast": 50e6}
SECONDS = 8
PORTS = {name: (6000 + 2 * i, 6001 + 2 * i) for i, name in enumerate(RATES)}

SERVER = """
import socket, sys, threading, time
def sink(port):
    with socket.create_server(("", port)) as listening:
        line, _ = listening.accept()
    total, began, last = 0, None, None
    while data := line.recv(1 << 16):
        last = time.monotonic()
        if began is None:
            began, data = last, b""      # the first piece starts the clock
        total += len(data)
    print(port, 8 * total / (last - began), flush=True)
def source(port):
    with socket.create_server(("", port)) as listening:
        line, _ = listening.accept()
    until, piece = time.monotonic() + SECONDS, bytes(1 << 14)
    while time.monotonic() < until:
        line.sendall(piece)
    line.close()
threads = [threading.Thread(target=sink, args=(up,)) for up, _ in PORTS]
threads += [threading.Thread(target=source, args=(down,)) for _, down in PORTS]
for thread in threads: thread.start()
print("ready", flush=True)
for thread in threads: thread.join()
"""

DEVICE = """
import socket, sys, threading, time, msgspec
from emulator.node.config import Network
from emulator.shaping.apply import apply
apply(msgspec.json.decode(open(PATH).read(), type=Network).shape)
def push():
    line = socket.create_connection((HOST, UP))
    until, piece = time.monotonic() + SECONDS, bytes(1 << 14)
    while time.monotonic() < until:
        line.sendall(piece)
    line.close()
pusher = threading.Thread(target=push); pusher.start()
line, total, began = socket.create_connection((HOST, DOWN)), 0, None
while data := line.recv(1 << 16):
    last = time.monotonic()
    if began is None:
        began, data = last, b""
    total += len(data)
print(DOWN, 8 * total / (last - began), flush=True)
pusher.join()
"""


def script(text, **names):
    for name, value in names.items():
        text = text.replace(name, repr(value))
    return ["python3", "-c", text]


def start(client, folder, net, name, entrypoint, link):
    backend = choose(probing.probe(client, image.require(client).id), [link])
    file = folder / f"{name}.json"
    file.write_bytes(msgspec.json.encode(Network(shape=access.shape(link, backend))))
    labels = {"emulate.run": "links"}
    wanted = spec.Container(name, image.require(client).id, net, labels, {str(PATH): file})
    kwargs = {**spec.container(wanted), "entrypoint": entrypoint, "command": []}
    kwargs |= {"log_config": {"Type": "json-file", "Config": {}}, "auto_remove": False}
    container = client.containers.create(**kwargs)
    container.start()
    return container


def test_goodput_is_what_the_rate_leaves(client, ours, tmp_path):
    from emulator.runtimes.docker.sweep import sweep

    client.networks.create("emulate-links", internal=True, labels={"emulate.run": "links"})
    try:
        server = start(
            client,
            tmp_path,
            "emulate-links",
            "sink",
            script(SERVER, PORTS=list(PORTS.values()), SECONDS=SECONDS),
            Link(),
        )
        server.reload()
        host = server.attrs["NetworkSettings"]["Networks"]["emulate-links"]["IPAddress"]
        devices = []
        for name, rate in RATES.items():
            side = Side(rate=Rate(rate))
            up, down = PORTS[name]
            code = script(DEVICE, PATH=str(PATH), HOST=host, UP=up, DOWN=down, SECONDS=SECONDS)
            link = Link(side, side)
            devices.append(start(client, tmp_path, "emulate-links", name, code, link))
        for container in (*devices, server):
            assert container.wait(timeout=60)["StatusCode"] == 0, container.logs().decode()
        lines = b"".join(container.logs() for container in (server, *devices)).decode().split("\n")
    finally:
        sweep(client, "links")
    measured = {
        int(port): float(rate) for port, rate in (line.split() for line in lines if " " in line)
    }
    report = {}
    for name, rate in RATES.items():
        for way, port in zip(("up", "down"), PORTS[name], strict=True):
            report[f"{name} {way}"] = round(measured[port] / (rate / FRAME), 4)
    print(json.dumps(report))
    assert all(abs(share - 1) < 0.03 for share in report.values()), report
