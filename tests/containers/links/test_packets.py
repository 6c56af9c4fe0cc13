"""Links whose packets are held by the box: round trips, changes, the box's death, `emulate link`.

The paths between containers are measured by TCP's handshake, of which the program at the other end
takes no notice.
"""

import json
import shutil
import signal
import time
from itertools import pairwise
from statistics import mean
from threading import Thread
from typing import NamedTuple

import pytest

from emulator.runtimes.docker.configs.spec import BOX
from emulator.runtimes.docker.engine import probing
from emulator.runtimes.docker.images import node_image
from emulator.world.links.link import FRAME
from tests.containers.conftest import until
from tests.containers.host_pace import judged

pytestmark = [pytest.mark.docker, pytest.mark.timed, pytest.mark.timeout(300)]

RTT = 0.100
"""Seconds of a round trip of the device `far`: 40 ms up and 60 ms down."""
WORSE = 0.400
"""With the 150 ms that a fault adds each way."""
NEAR = 0.005
FAR = """
name: far-away
training: {dataset: digits, model: digits-mlp, algorithm: adacomp, learning_rate: 0.1}
evaluate: {every: 100000}
stop: {time: 60s}
devices:
  - name: far
    profile: {cpu: 20%, memory: 512MiB}
    link: {up: {rate: 8mbit, delay: 40ms}, down: {rate: 8mbit, delay: 60ms}}
  - {name: near, profile: {cpu: 20%, memory: 512MiB}}
  - name: tracing
    profile: {cpu: 20%, memory: 512MiB}
    link: {up: {delay: 5ms}, down: {delay: 5ms, trace: {samples: "TRACE"}}}
faults:
  - {kind: degrade, nodes: [far], at: 6s, lasts: 6s, delay: 150ms}
  - {kind: pause, nodes: [tracing], at: 100ms, lasts: 13s}
"""
BEGIN = 3
"""Second of the run from which the rate changes each second."""
MBIT = [4, 9, 6, 2, 3, 8, 5, 7, 1.5, 6]
"""Rates of these seconds."""
FAR = FAR.replace(
    "TRACE",
    ", ".join(
        ["0 4e6", *(f"{at} {rate}e6" for at, rate in enumerate(MBIT, BEGIN)), "end 600"],
    ),
)
SHAKE = """
import json, socket, time
def shake():
    began = time.monotonic()
    socket.create_connection(("{host}", {port}), 10).close()
    return time.monotonic() - began
print(json.dumps([shake() for _ in range({count})]))
"""
LISTEN = """
import socket, threading
def pour():
    with socket.create_server(("", 7001)) as listening:
        while True:
            line, _ = listening.accept()
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
            line.sendall(bytes(4_000_000))
            line.close()
threading.Thread(target=pour, daemon=True).start()
with socket.create_server(("", 7000)) as listening:
    while True:
        listening.accept()[0].close()
"""
DRAIN = """
import socket, time
with socket.create_connection(("{host}", 7001), 10) as line:
    total, began, half = 0, 0, 0
    while part := line.recv(1 << 16):
        total += len(part)
        # once what waited behind lost packets of the slow start is in
        if not half and total > 3_000_000 and len(part) < 1 << 16:
            began, half = time.monotonic(), total
    print(8 * (total - half) / (time.monotonic() - began))
"""

POUR = """
import socket
with socket.create_server(("", 7002)) as listening:
    line = listening.accept()[0]
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
    line.sendall(bytes(30_000_000))
"""
TELL = """
import json, socket, time
line, total, seen = None, 0, []
while line is None:
    try:
        line = socket.create_connection(("{host}", 7002), 10)
    except ConnectionRefusedError:
        time.sleep(0.1)
until = time.monotonic() + {seconds}
while time.monotonic() < until:
    total += len(line.recv(1 << 14))
    seen.append((time.monotonic(), total))
print(json.dumps(seen))
"""


@pytest.fixture
def packets(client):
    """Skip the test where the kernel delays packets itself, or no device makes TAPs."""
    features = probing.probe(client, node_image.require(client).id)
    if features.netem or not features.tun:
        pytest.skip("the box serves where the kernel has no netem, and /dev/net/tun is there")


def shakes(container, host: str, port: int, count: int = 9) -> float:
    """The shortest of some handshakes from `container` with `host`: others load this machine."""
    script = SHAKE.format(host=host, port=port, count=count)
    code, said = container.exec_run(["python3", "-c", script])
    assert code == 0, said
    return min(json.loads(said))


def goodput(container, host: str) -> float:
    """Payload bits per second from `host` to `container`, after the losses of slow start."""
    code, said = container.exec_run(["python3", "-c", DRAIN.format(host=host)])
    assert code == 0, said
    return float(said)


class Download(Thread):
    """A download of a container from another one: bytes received by times of the host."""

    def __init__(self, container, server, host: str, seconds: float) -> None:
        super().__init__()
        server.exec_run(["python3", "-c", POUR], detach=True)
        script = TELL.format(host=host, seconds=seconds)
        self._work = lambda: container.exec_run(["python3", "-c", script])
        self.start()

    def run(self) -> None:
        self._code, self._said = self._work()

    def rates(self, edges: list[float]) -> list[float]:
        """Return the rates of frames between neighbours of `edges`, in Mbit/s."""
        self.join()
        assert self._code == 0, self._said
        seen = json.loads(self._said)
        totals = [max((total for at, total in seen if at <= edge), default=0) for edge in edges]
        return [
            8e-6 * FRAME * (more - less) / (after - before)
            for (before, less), (after, more) in pairwise(zip(edges, totals, strict=True))
        ]


def address(container) -> str:
    container.reload()
    (network,) = container.attrs["NetworkSettings"]["Networks"].values()
    return network["IPAddress"]


def run_of(client, tmp_path):
    """The folder of the run that is being played, and its containers, by role or device."""
    (folder,) = (tmp_path / "runs/far-away").glob("2*")
    label = f"emulate.run={folder.name.rpartition('-')[2]}"
    nodes = client.containers.list(filters={"label": label}, ignore_removed=True)
    return folder, {
        own.labels.get("emulate.device", own.labels["emulate.role"]): own for own in nodes
    }


class Times(NamedTuple):
    """What was measured in a run: seconds of handshakes, and the mean error of a rate."""

    far: float
    near: float
    worse: float
    again: float
    error: float


def test_a_device_s_packets_take_the_time_of_its_link_and_of_a_fault(
    client, packets, start, tmp_path
):
    def kept(found: Times, longer: float) -> bool:
        whole = (found.far, RTT), (found.worse, WORSE), (found.again, RTT)
        trips = all(least < took < 1.02 * longer * least + 0.005 for took, least in whole)
        return trips and found.near < longer * NEAR and found.error < 0.05 + 1 - 1 / longer

    judged(lambda: _times(client, start, tmp_path), kept)


def _times(client, start, tmp_path) -> Times:
    """Play FAR, and measure it from outside."""
    shutil.rmtree(tmp_path / "runs", ignore_errors=True)
    process = start(FAR)
    began = time.monotonic()
    folder, nodes = run_of(client, tmp_path)
    assert nodes[BOX].attrs["HostConfig"]["NetworkMode"] == "none"
    server = address(nodes["server"])
    download = Download(nodes["tracing"], nodes["server"], server, BEGIN + len(MBIT) + 1)
    far, near = (shakes(nodes[name], server, 5555) for name in ("far", "near"))
    while time.monotonic() < began + 7:
        time.sleep(0.1)
    worse = shakes(nodes["far"], server, 5555, 5)
    download.join()
    again = shakes(nodes["far"], server, 5555)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["shaping"]["delay"] == "packets"
    shaping = json.loads((folder / "summary.json").read_text())["fidelity"]["shaping"]
    print("lateness:", shaping)
    assert shaping["backend"] == "packets"
    assert 0 < shaping["p50"] <= shaping["p99"] <= shaping["max"] < WORSE
    records = [json.loads(line) for line in (folder / "run.jsonl").read_text().splitlines()]
    late = [record for record in records if record["what"] == "lateness"]
    assert len(late) >= 10
    assert sum(record["packets"] for record in late) > 100
    updates = [record["at"] for record in records if record.get("node") == "far"]
    assert len(updates) > 10
    (zero,) = [record["zero"] for record in records if record["what"] == "start"]
    got = download.rates([zero + BEGIN + second for second in range(len(MBIT) + 1)])
    errors = [abs(had / rate - 1) for had, rate in zip(got, MBIT, strict=True)]
    print(f"second by second: {[round(had, 2) for had in got]}, mean error {mean(errors):.2%}")
    return Times(far, near, worse, again, mean(errors))


def test_the_death_of_the_box_ends_the_run_with_its_reason(client, packets, start, tmp_path):
    process = start(FAR)
    folder, nodes = run_of(client, tmp_path)
    nodes[BOX].kill()
    said = process.stdout.read()
    assert process.wait(timeout=60) == 1
    assert "the box that delays packets ended unasked, and the links with it" in said
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["outcome"] == "failed"
    assert "the box that delays packets ended unasked" in summary["detail"]


def test_the_box_ends_by_itself_when_its_conductor_dies(client, packets, start, emulate, tmp_path):
    process = start(FAR)
    folder, _ = run_of(client, tmp_path)
    process.kill()
    run = folder.name.rpartition("-")[2]
    label = f"emulate.run={run}"
    until(lambda: not client.api.containers(filters={"label": label}), 60)
    assert "1 volumes" in emulate("clean", "--run", run).stdout


def test_messages_are_held_where_that_is_forced(client, packets, play):
    short = FAR.replace("time: 60s", "updates: 20, time: 60s")
    outcome = play(short, "--shaping", "receiver")
    assert outcome.summary["fidelity"]["shaping"] == {"backend": "receiver"}
    assert outcome.said("lateness") == []


@pytest.fixture
def pair(client):
    """Two containers of no run on the engine's own network: one listens, and has no capability."""
    image = node_image.require(client).id
    common = {"image": image, "detach": True, "cap_drop": ["ALL"], "auto_remove": True}
    made = [
        client.containers.run(entrypoint=["python3", "-c", LISTEN], **common),
        client.containers.run(entrypoint=["sleep", "600"], **common),
    ]
    yield made
    for container in made:
        container.kill()


def linked(client, container):
    label = f"emulate.link={container.name}"
    return client.api.containers(all=True, filters={"label": label})


def test_a_foreign_container_gets_a_link_and_loses_it(client, packets, emulate, pair):
    foreign, other = pair
    host = address(foreign)
    assert shakes(other, host, 7000) < NEAR
    up = "{rate: 8mbit, delay: 40ms, duplicate: 0.001%}"  # the box shapes the rate
    down = "{rate: 8mbit, delay: 60ms}"
    said = emulate("link", foreign.name, "--up", up, "--down", down).stdout
    assert "delay by packets" in said
    behind = shakes(other, host, 7000)
    print("handshakes with a foreign container:", behind)
    assert RTT < behind < 1.02 * RTT + 0.005
    # the data behind a lost packet comes at once with the packet, in one part of a transfer
    judged(
        lambda: goodput(other, host) * FRAME / 8e6,
        lambda share, longer: 0.97 / longer < share < 1.03,
    )
    again = emulate("link", foreign.name, "--profile", "dsl", check=False)
    assert again.returncode == 1
    assert f"`emulate link {foreign.name} --remove` undoes it" in again.stderr
    emulate("link", foreign.short_id, "--remove")
    assert linked(client, foreign) == []
    assert shakes(other, host, 7000) < NEAR


def test_cleaning_up_undoes_the_link_of_a_foreign_container(client, packets, emulate, pair):
    foreign, other = pair
    emulate("link", foreign.name, "--profile", "4g")
    assert shakes(other, address(foreign), 7000) > 0.085
    run = linked(client, foreign)[0]["Labels"]["emulate.run"]
    assert "removed 2 containers, 0 networks, 1 volumes" in emulate("clean", "--run", run).stdout
    assert linked(client, foreign) == []
    assert shakes(other, address(foreign), 7000) < NEAR


def test_what_became_of_a_foreign_container_is_said(client, packets, emulate, pair):
    """Of a box that died, of a container that was started again, and of one that is gone."""
    foreign, other = pair
    missing = emulate("link", "nothing-of-this-name", "--remove", check=False)
    assert (missing.returncode, missing.stderr) == (
        1,
        "emulate: nothing-of-this-name has no link\n",
    )
    for container, seed in ((foreign, ()), (other, ("--seed", "7"))):
        emulate("link", container.name, "--profile", "adsl2plus", *seed)
    commands = {each["Labels"]["emulate.role"]: each for each in linked(client, other)}
    assert "--seed 7" in commands["box"]["Command"]
    assert other.name in commands["link"]["Command"]  # the name of its random draws
    (box,) = (each for each in linked(client, foreign) if each["Labels"]["emulate.role"] == "box")
    client.api.kill(box["Id"])
    back = emulate("link", foreign.name, "--remove").stdout
    assert back == f"link: {foreign.name} has its own network back\n"
    assert shakes(other, address(foreign), 7000) < RTT  # 21 ms of the other one's link
    other.restart(timeout=0)
    again = emulate("link", other.name, "--up", "{delay: 5ms}").stdout
    assert f"link: {other.name} is behind it" in again
    assert len(linked(client, other)) == 2
    other.restart(timeout=0)
    gone = emulate("link", other.name, "--remove").stdout
    assert f"{other.name} was started again since, with its own network" in gone
    emulate("link", foreign.name, "--up", "{delay: 5ms}")
    sidecar = next(e for e in linked(client, foreign) if e["Labels"]["emulate.role"] == "link")
    client.api.kill(sidecar["Id"])
    lost = emulate("link", foreign.name, "--remove", check=False)
    assert lost.returncode == 1
    assert "has its own network back" not in lost.stdout
    assert f"{foreign.name} has not got its network back: the sidecar ended with 137" in lost.stderr
    assert linked(client, foreign) == []


def test_a_container_with_ipv6_is_refused(client, packets, emulate):
    image = node_image.require(client).id
    network = client.api.create_network(
        "emulate-test-links-ipv6",
        enable_ipv6=True,
        ipam={"Driver": "default", "Config": [{"Subnet": "fd00:77:9::/64"}]},
    )["Id"]
    try:
        foreign = client.containers.run(
            image, entrypoint=["sleep", "60"], network=network, detach=True
        )
        try:
            refused = emulate("link", foreign.name, "--up", "{delay: 5ms}", check=False)
        finally:
            foreign.remove(force=True)
    finally:
        client.api.remove_network(network)
    assert refused.returncode == 1
    assert "a network with IPv6: links carry IPv4 alone" in refused.stderr
