"""A run's network: its containers reach each other, and no port of the host."""

import json
import secrets
import socket
import subprocess
import threading

import pytest

from emulator.runtimes.docker.configs import spec
from emulator.runtimes.docker.engine.cleanup import clean_up
from emulator.runtimes.docker.images import node_image
from tests.containers.conftest import until

pytestmark = [pytest.mark.docker, pytest.mark.timeout(60)]

LISTEN = """
import socket, time
with socket.create_server(("", 6000)) as listening:
    print("listening", flush=True)
    while True: listening.accept()
"""
TRY = """
import json, socket, sys
def reached(host, port):
    try:
        socket.create_connection((host, port), timeout=1.0).close()
    except OSError:
        return False
    return True
print(json.dumps([where for where in json.loads(sys.argv[1]) if reached(*where)]))
"""


@pytest.fixture
def network(client, tmp_path):
    """A network as a run makes it, and how to start a script on it; nothing in the end."""
    run = secrets.token_hex(3)
    labels = {"emulate.run": run, "emulate.folder": str(tmp_path)}
    made = client.networks.create(**spec.network(f"emulate-{run}-wan", labels))

    def start(script, *arguments):
        return client.containers.run(
            node_image.require(client).id,
            entrypoint=["python3", "-c", script],
            command=list(arguments),
            network=made.name,
            labels=labels,
            detach=True,
        )

    yield made, start
    clean_up(client, run)


@pytest.fixture
def port():
    """A port on which this host answers at any of its addresses."""
    with socket.create_server(("0.0.0.0", 0)) as listening:
        threading.Thread(target=accept, args=(listening,), daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


def accept(listening):
    while True:
        try:
            listening.accept()[0].close()
        except OSError:
            return


def test_a_device_reaches_the_others_and_not_the_host(network, port):
    made, start = network
    server = start(LISTEN)
    until(lambda: b"listening" in server.logs(), 20)
    server.reload()
    beside = server.attrs["NetworkSettings"]["Networks"][made.name]["IPAddress"]
    made.reload()
    hosts = {config["Gateway"] for config in made.attrs["IPAM"]["Config"]} | addresses()
    for host in hosts & addresses():  # else it proves nothing that a container does not
        socket.create_connection((host, port), timeout=2.0).close()
    places = [(beside, 6000), *((host, port) for host in sorted(hosts))]
    device = start(TRY, json.dumps(places))
    assert device.wait(timeout=60)["StatusCode"] == 0
    assert json.loads(device.logs()) == [[beside, 6000]]


def addresses():
    """This host's own, but for the loopback's, and those of networks that may go any moment."""
    said = subprocess.run(["ip", "-j", "-4", "addr"], capture_output=True, check=True).stdout
    links = [link for link in json.loads(said) if not link["ifname"].startswith(("lo", "br-"))]
    return {item["local"] for link in links for item in link["addr_info"]}
