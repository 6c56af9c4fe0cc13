"""The answers of an agent: its clock and load, files, and what it refuses."""

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import requests
from requests.adapters import BaseAdapter

from emulator.errors import DeploymentError, HostError
from emulator.machine.host import Load
from emulator.runtimes.docker.engine.client import refusals
from emulator.runtimes.docker.engine.hosts import EngineHost, Hosts
from emulator.runtimes.docker.host_log import HostLogs
from emulator.runtimes.swarm import agent, agents, other_hosts
from emulator.runtimes.swarm.agent import FILES, Hands
from emulator.runtimes.swarm.nodes import Node, absent_hosts, unreachable_nodes
from emulator.runtimes.swarm.remote_host import RemoteHost
from emulator.runtimes.swarm.socket_folders import socket_folder
from emulator.scenario import loads
from emulator.transport.secrets import Keys
from emulator.transport.tunnel.clock_offset import ClockOffset
from emulator.transport.tunnel.conductor_end import TunnelError
from emulator.transport.tunnel.placed_files import BATCH, pack
from emulator.transport.tunnel.tunnel_heads import LARGEST
from emulator.world.emulated_clock import UNDILATED


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """The folder of the agent's files."""
    folder = tmp_path / "there"
    folder.mkdir()
    return folder


class Wire:
    """A tunnel to an agent in this process."""

    def __init__(self, folder: Path) -> None:
        self.hands, self.asked, self.lost = Hands(folder), list[str](), ""
        self.load = SimpleNamespace(busy=[], pressure=[])
        self.offset, self.refuses = ClockOffset(), ""
        self.broke, self.sizes = "", list[int]()

    def broken(self, since: float) -> str:
        return self.broke

    def ask(self, what: str, payload: bytes = b"", timeout: float = 1.0, **facts: Any) -> Any:
        self.asked.append(what)
        self.sizes.append(len(payload))
        if self.refuses:
            raise TunnelError(self.refuses)
        try:
            return self.hands.answer(what, facts, payload)
        except OSError as error:  # as the two ends of a tunnel do it
            raise TunnelError(str(error)) from error


@pytest.fixture
def wire(there: Path) -> Wire:
    return Wire(there)


@pytest.fixture
def host(wire: Wire, there: Path) -> RemoteHost:
    mounts = {"Mounts": [{"Source": str(there), "Destination": str(FILES)}]}
    api = requests.Session()  # as Docker's client is one
    api.mount("http+docker://", Aborted())
    api.inspect_container = lambda name: mounts  # type: ignore[attr-defined]
    client: Any = SimpleNamespace(api=api)
    tunnel: Any = wire
    return RemoteHost("far", 4, tunnel, client, "agent")


class Aborted(BaseAdapter):
    """A connection to an engine that is gone, as Docker's client sees it."""

    def send(self, *request: Any, **options: Any) -> Any:
        raise requests.ConnectionError("Connection aborted.")

    def close(self) -> None: ...


def test_a_call_to_an_engine_that_is_gone_has_the_reason(host: RemoteHost, wire: Wire) -> None:
    """The agent knows why it reaches no engine, and the connection here is only aborted."""
    api: Any = host.client.api
    for broke, lost, said in (
        ("", "", "Connection aborted"),
        ("[Errno 111] Connection refused", "", "Connection refused"),
        ("[Errno 111] Connection refused", "no answer for 10 s", "no answer for 10 s"),
    ):
        wire.broke, wire.lost = broke, lost
        with pytest.raises(DeploymentError, match=f"^starting x: .*{said}"), refusals("starting x"):
            api.get("http+docker://localhost/containers")


def test_a_folder_arrives_as_it_is(host: RemoteHost, wire: Wire, tmp_path: Path) -> None:
    shard = tmp_path / "shards" / "home"
    (shard / "deep").mkdir(parents=True)
    (shard / "deep" / "x.npy").write_bytes(bytes(range(256)))
    (shard / "key").write_text("secret")
    (shard / "key").chmod(0o400)
    placed = host.place(shard, "abc")
    assert (placed / "deep" / "x.npy").read_bytes() == bytes(range(256))
    mine, theirs = (shard / "key").stat(), (placed / "key").stat()
    assert stat.S_IMODE(theirs.st_mode) == 0o400
    assert (mine.st_uid, mine.st_gid) == (theirs.st_uid, theirs.st_gid)
    assert host.place(shard, "abc") == placed and wire.asked == ["put"]  # sent once


@pytest.mark.parametrize("size", [0, 1, BATCH - 1, BATCH, BATCH + 1, 2 * BATCH + 3])
def test_a_large_file_arrives_in_pieces_that_an_agent_has_memory_for(
    host: RemoteHost, wire: Wire, tmp_path: Path, size: int
) -> None:
    file = tmp_path / "graph"
    file.write_bytes(content := os.urandom(size))
    (host._folder / "abc" / "0").mkdir(parents=True)
    (host._folder / "abc" / "0" / "graph").write_bytes(bytes(size + 1))  # of a try that failed
    assert host.place(file, "abc").read_bytes() == content
    assert len(wire.asked) == max(1, -(-size // BATCH))
    assert max(wire.sizes) < LARGEST


def test_what_is_placed_for_a_run_goes_with_it(
    host: RemoteHost, wire: Wire, there: Path, tmp_path: Path
) -> None:
    file = tmp_path / "node.json"
    file.write_text("{}")
    kept, gone = host.place(file, "one"), host.place(file, "two")
    host.forget("two")
    assert kept.exists() and not gone.exists()
    assert host.place(file, "two").exists()


def test_a_file_that_does_not_arrive_ends_the_deployment(
    host: RemoteHost, wire: Wire, tmp_path: Path
) -> None:
    (tmp_path / "x").write_text("x")
    wire.refuses = "No space left on device"
    with pytest.raises(DeploymentError, match=r"sending .*/x to far: No space left on device"):
        host.place(tmp_path / "x", "abc")


@pytest.mark.parametrize("to", ["..", "/etc", "a/../../b"])
def test_an_agent_writes_only_below_its_folder(there: Path, to: str) -> None:
    hands = Hands(there)
    for where, name in ((to, "x"), ("ok", f"{to}/x")):
        with pytest.raises(ValueError, match="not below the folder"):
            hands.answer("put", {"to": where}, pack([(name, 0o644, 0, 0, b"x", 0)]))
    with pytest.raises(ValueError, match="not below the folder"):
        hands.answer("forget", {"to": to}, b"")
    assert [*there.iterdir()] == []


def test_an_unknown_question_is_refused() -> None:
    with pytest.raises(ValueError, match="does not know the question 'open sesame'"):
        Hands().answer("open sesame", {}, b"")


def test_the_load_is_told_once(there: Path) -> None:
    hands = Hands(there)
    hands._sampling = True
    hands._load.busy, hands._load.pressure = [0.1, 0.2, 0.3], [None, None, 0.5]
    assert hands.answer("clock", {"since": 2}, b"") | {"now": 0} == {
        "now": 0,
        "busy": [0.3],
        "pressure": [0.5],
    }


def test_a_host_is_lost_when_its_agent_or_its_engine_is(
    host: RemoteHost, wire: Wire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = socket.socket(socket.AF_UNIX)
    engine.bind(str(tmp_path / "engine"))
    engine.listen()
    monkeypatch.setattr(agent, "SOCKET", str(tmp_path / "engine"))
    assert host.lost() == ""
    engine.close()
    assert host.lost().startswith("its host far is lost: [Errno 111] Connection refused")
    wire.refuses = "later words change nothing"
    assert "refused" in host.lost()


def test_times_are_turned_into_those_of_this_machine(host: RemoteHost, wire: Wire) -> None:
    wire.offset.heard(10.0, 110.5, 11.0)
    assert host.at_home(110.5) == 10.5 and host.away(10.5) == 110.5
    assert host.clock == (100.0, 0.5)


def test_boxes_and_fork_servers_of_several_hosts_have_names_of_their_own(host: RemoteHost) -> None:
    client: Any = None
    home = EngineHost(client)
    hosts = Hosts(home, (host,), {"d": host})
    assert (home.box, host.box) == ("packet_box", "packet_box@far")
    assert [hosts.of(name) for name in ("d", "e", host.box, host.fork_server, home.box)] == [
        *(host, home, host, host, home)
    ]
    assert hosts.several and not Hosts.here(client).several


def test_records_and_files_call_each_host_by_one_word(host: RemoteHost) -> None:
    """That of `emulate check`: the name of its node. A run on one host names none."""
    client: Any = None
    home = EngineHost(client, word="near")
    scenario = loads(
        "name: two\ntraining: {dataset: digits, model: digits-mlp, algorithm: asgd}\n"
        "stop: {updates: 10}\ndevices: [{name: d, count: 3}]\n"
    )
    hosts = Hosts(home, (host,), {"d-1": host})
    assert hosts.devices(scenario) == {"near": ["d-0", "d-2"], "far": ["d-1"]}
    assert Hosts.here(client).devices(scenario) == {}
    load = Load()
    load.busy, load.pressure = [0.5], [None]
    host.load.busy, host.load.pressure = [0.25, 0.75], [None, None]
    logs = HostLogs(hosts, load, (), UNDILATED)
    host.load.busy.append(0.5)
    assert [record.host for record in logs.tick(1.0, last=True)] == ["near"]
    host.load.busy.append(0.5)
    host.load.pressure.append(None)
    assert [record.host for record in logs.tick(2.0, last=True)] == ["far"]


def test_the_socket_s_path_fits_into_a_unix_address() -> None:
    """An address has 107 bytes at most."""
    with socket_folder() as folder:
        assert len(os.path.join(folder, "engine-99.sock")) < 100
    assert not folder.exists()


@pytest.mark.slow
def test_the_folder_of_a_killed_conductor_goes_and_that_of_a_living_one_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code = (
        "import os, signal\n"
        "from emulator.runtimes.swarm.socket_folders import socket_folder\n"
        "with socket_folder() as folder:\n"
        "    (folder / 'engine-0.sock').touch()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code], env=os.environ | {"TMPDIR": str(tmp_path)})
    (killed,) = tmp_path.iterdir()
    new, old, other = (tmp_path / f"emulate-{name}" for name in ("swarm-1", "swarm-2", "other"))
    for folder in (new, old, other):
        folder.mkdir()
    for folder in (old, other):
        os.utime(folder, (1.0, 1.0))
    with socket_folder() as living:
        assert other_hosts.clean_other_hosts(NO_SWARM, lambda run: True, False).spared == []
        assert {*tmp_path.iterdir()} == {living, new, other}
    assert not killed.exists() and not living.exists()


NO_SWARM: Any = SimpleNamespace(info=dict)


def test_what_the_service_of_the_agents_may() -> None:
    """As much as a service of Docker 20.10 can be held to."""
    made: list[Any] = []
    api = SimpleNamespace(
        create_secret=lambda *about, **marks: {"ID": "s"},
        create_service=lambda template, **about: made.append((template, about)),
        nodes=lambda: [{"ID": "one"}, {"ID": "two"}],
    )
    client: Any = SimpleNamespace(api=api)
    nodes = [Node("two", "two", "10.0.0.2", 2, 2**30)]
    guests: Any = Keys("private", {})
    agents._create(client, "abc", "sha256:1", 23456, guests, nodes, {"emulate.run": "abc"})
    ((template, about),) = made
    assert template["Resources"]["Limits"] == {"MemoryBytes": 512 << 20, "Pids": 64}
    container = template["ContainerSpec"]
    assert container["CapabilityDrop"] == ["ALL"] and container["ReadOnly"] is True
    assert container["CapabilityAdd"] == ["CHOWN", "DAC_OVERRIDE", "FOWNER"]
    assert template["Placement"] == {"Constraints": ["node.id!=one"]}
    assert about["mode"] == {"global": {}}


@pytest.mark.slow
def test_an_agent_gains_no_privileges_in_any_thread() -> None:
    code = (
        "import sys, threading\n"
        "from pathlib import Path\n"
        "from emulator.runtimes.swarm import agent\n"
        "def look(): print(Path('/proc/thread-self/status').read_text())\n"
        "async def serve(port):\n"
        "    look()\n"
        "    thread = threading.Thread(target=look)\n"
        "    thread.start()\n"
        "    thread.join()\n"
        "agent.serve, sys.argv = serve, ['agent', '1']\n"
        "agent.main()\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert said.count("NoNewPrivs:\t1\n") == 2


def test_nodes_that_run_no_agent_are_named_with_the_reason() -> None:
    def node(name: str, state: str, availability: str) -> dict[str, Any]:
        description = {"Hostname": name, "Resources": {"NanoCPUs": 10**9, "MemoryBytes": 1}}
        return {
            "ID": name,
            "Spec": {
                "Availability": availability,
                "Labels": {"emulate.host": "attic"} if name == "two" else None,
            },
            "Description": description,
            "Status": {"State": state, "Addr": "10.0.0.1"},
        }

    states = (
        ("one", "ready", "active"),
        ("three", "ready", "drain"),
        ("two", "down", "active"),
        ("zero", "ready", "pause"),
    )
    client: Any = SimpleNamespace(
        api=SimpleNamespace(nodes=lambda: [node(*facts) for facts in states])
    )
    assert unreachable_nodes(client) == {"three": "drained", "two": "down", "zero": "paused"}
    assert absent_hosts(client) == {
        "three": "host three is drained",
        "attic": "host two is down",
        "two": "host two is down",
        "zero": "host zero is paused",
    }


class FewAgents:
    """Agents of a swarm, of which one does not come up."""

    def __init__(self) -> None:
        self.run, self.hosts, self.missing = "ours", (EngineHost(None, "far"),), ("far-2: why",)  # type: ignore[arg-type]
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


def test_clean_looks_at_the_hosts_that_answer_and_names_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few, looked, client = FewAgents(), list[str](), cast(Any, None)
    monkeypatch.setattr(other_hosts, "manages", lambda client: True)
    monkeypatch.setattr(other_hosts, "ready_nodes", lambda client: (None, ["a", "b"]))
    monkeypatch.setattr(other_hosts, "unreachable_nodes", lambda client: {"three": "drained"})
    monkeypatch.setattr(other_hosts.agents, "remove_dead", lambda client, forced: None)
    monkeypatch.setattr(other_hosts.agents, "present", lambda client: frozenset())
    monkeypatch.setattr(other_hosts.agents, "start", lambda *about: few)
    image = SimpleNamespace(id="image")
    monkeypatch.setattr(other_hosts.node_image, "require", lambda client: image)
    monkeypatch.setattr(other_hosts, "_clean", lambda host, *about: looked.append(host.name))
    cleaned = other_hosts.clean_other_hosts(client, lambda run: True, False)
    assert looked == ["far"] and few.closed == 1
    drained, missing = cleaned.removed.left
    assert drained.startswith("host three is drained") and drained.endswith("once it is active")
    assert missing.startswith("host far-2: why")
    with pytest.raises(HostError, match="far-2: why"):
        agents.start_all(client, "image", [], lambda line: None)
    assert few.closed == 2


def test_half_a_sample_of_the_load_is_not_sent(there: Path) -> None:
    """The thread that samples has added the pressure, and not yet the busy cores."""
    hands = Hands(there)
    hands._sampling = True
    hands._load.busy, hands._load.pressure = [0.1, 0.2], [0.3, None, 0.5]
    first = hands.answer("clock", {"since": 1}, b"")
    assert (first["busy"], first["pressure"]) == ([0.2], [None])
