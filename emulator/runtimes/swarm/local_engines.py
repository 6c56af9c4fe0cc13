"""Docker engines on this machine that are one Swarm, for trying and for tests.

Each engine is as a host of its own: a name, a network namespace with an address, containers,
images, and a control group. All share this machine's kernel, cores and clock. A host that loses
power is played by `kill`, its next boot by `start`. There is one such cluster for a cache folder.
"""

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import requests
from docker import DockerClient
from docker.errors import DockerException

from ...errors import HostError, counted
from ...machine.cache import cache
from ...machine.host import lacks_containers
from ...machine.lock import held_alone
from ..docker.engine.client import connect, refusals
from ..docker.images import node_image
from ..docker.images.image_transfer import send
from .engine_network import MOST, NAMESPACES, PATHS, EngineNetwork
from .engine_remains import kill_members, members, remove_groups, remove_shim_sockets, unmount
from .nodes import SOCKET_LABEL

_PATIENCE = 60.0
"""Seconds in which engines answer, or nodes of a Swarm are ready."""
_ANSWER = 5.0
"""Seconds in which an engine answers that is up."""
_LOOK = 0.1
_DISKS = 4
"""Disks that are copied or removed at once: each waits for the file system most of the time."""
_LAYERS = "overlay2"
"""Folder of an engine's data that holds the layers of images and containers."""

_PROGRAMS = {
    "dockerd": "docker.io",
    "containerd": "containerd",
    "ip": "iproute2",
    "nsenter": "util-linux",
}
"""Programs that engines need, and the packages of Debian that have them."""

_BOOT = 'echo "$1" >/proc/sys/kernel/hostname; containerd --config "$2" & shift 2; exec "$@"'
"""Script that names the host, and starts the engine with a containerd of its own.

By itself an engine takes the containerd of the machine if one runs, which would keep this engine's
containers outside of its namespaces."""


@dataclass(frozen=True)
class LocalEngine:
    """An engine on this machine, as the state file has it."""

    number: int
    """1 is the Swarm's manager."""
    name: str
    """Host name of the engine, which is that of its node in the Swarm."""
    socket: str
    """Address of the engine's API, `unix://` and a path."""
    address: str
    """IPv4 address in the engine's namespace, which this machine's processes reach."""
    namespace: str
    """Name of its network namespace."""

    def up(self) -> bool:
        """Return whether the engine answers."""
        # not by the package docker, which leaves the socket open where nothing answers
        with socket.socket(socket.AF_UNIX) as asking:
            asking.settimeout(_ANSWER)
            try:
                asking.connect(self.socket.removeprefix("unix://"))
                asking.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
                return b" 200 " in asking.recv(64)
            except OSError:
                return False


@dataclass(frozen=True)
class LocalEngines:
    """The engines of a cluster on this machine."""

    addresses: str
    """Their network, as `10.99.7.0/24`."""
    engines: tuple[LocalEngine, ...]

    def plain(self) -> dict[str, Any]:
        """Return the entries of the state file."""
        return asdict(self)


# -- places --------------------------------------------------------------------------------------


def _root() -> Path:
    return cache("cluster", "swarm")


def _state() -> Path:
    return _root() / "state.json"


def _network() -> EngineNetwork:
    """Return the names of this cluster's namespaces, which need no state file to be found."""
    return EngineNetwork(sha256(str(_root().resolve()).encode()).hexdigest()[:8])


def _group() -> str:
    """Return the control group above those of the engines."""
    return f"/emulate-{_network().tag}"


def _runtime() -> Path:
    """Return the folder of sockets, whose paths may have 107 bytes only, and of mounts."""
    return Path(f"/run/emulate-{_network().tag}")


def _folder(engine: LocalEngine) -> Path:
    return _root() / engine.name


# -- the cluster ---------------------------------------------------------------------------------


def current() -> LocalEngines | None:
    """Return the cluster of this cache folder, or None; one without engines is half made."""
    if not _root().exists():
        return None
    try:
        content = json.loads(_state().read_text(encoding="utf-8"))
        engines = tuple(LocalEngine(**engine) for engine in content["engines"])
        return LocalEngines(content["addresses"], engines)
    except (OSError, ValueError, LookupError, TypeError):
        return LocalEngines("", ())


def up(
    number: int,
    tell: Callable[[str], None] = lambda line: None,
    sent: Callable[[int], None] = lambda sent: None,
) -> LocalEngines:
    """Start so many engines, join them to a Swarm, and send each the node image of this code.

    `tell` is called with a line for each step, `sent` with the bytes of the image that each engine
    was sent so far. Whatever ends this leaves nothing behind. Raises HostError if a cluster is up
    already, or if this machine cannot have one.
    """
    _check(number)
    with closing(connect()) as usual, _held():
        if current() is not None:
            raise HostError("engines are up on this machine already: `emulate cluster down`")
        node_image.require(usual)
        try:
            made = _laid_out(number)
            _fill(usual, made.engines, tell, sent)
            _begin(made, tell)
        except BaseException:
            _remove()
            raise
    return made


def down() -> bool:
    """End the cluster, and remove all of it; return whether there was any of it.

    It needs no engine to answer, and no state file.
    """
    if not _root().exists() and not _runtime().exists() and not _network().existing():
        return False
    _check_root()
    with _held():
        _remove()
    return True


def kill(engine: LocalEngine) -> None:
    """Let `engine` end as a host that loses power: with its containers and its network, at once.

    Its disk stays.
    """
    number, network = engine.number, _network()
    kill_members(engine.namespace, f"{_group()}/{number}")
    network.unplug(number)
    _forget(_runtime() / str(number))
    unmount(_folder(engine))
    remove_groups(f"{_group()}/{number}")


def start(engine: LocalEngine) -> None:
    """Start `engine`, as a host that boots, and wait until it answers. Raises HostError."""
    known = current()
    assert known is not None
    _boot(engine, IPv4Network(known.addresses))
    _await(engine)


def _check(number: int) -> None:
    """Raise HostError if this machine cannot have `number` engines of its own."""
    if why := lacks_containers():
        raise HostError(why)
    _check_root()
    if number > MOST:
        raise HostError(f"at most {MOST} engines fit into one network")
    for program, package in _PROGRAMS.items():
        if shutil.which(program, path=PATHS) is None:
            raise HostError(
                f"engines on this machine need the program {program}: as root on Debian, "
                f"`apt-get install {package}`"
            )


def _check_root() -> None:
    if os.geteuid() != 0:
        raise HostError(
            "engines on this machine need network namespaces and mounts: run this command as root"
        )


@contextmanager
def _held() -> Iterator[None]:
    lock = cache("cluster", "swarm.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    with held_alone(lock, "the engines of this machine are started or ended"):
        yield


def _laid_out(number: int) -> LocalEngines:
    """Make the network and the state file of so many engines."""
    network = _network()
    _root().mkdir(parents=True)
    addresses = network.make()
    engines = tuple(_engine(each, network, addresses) for each in range(1, number + 1))
    made = LocalEngines(str(addresses), engines)
    _state().write_text(json.dumps(made.plain(), indent=2), encoding="utf-8")
    return made


def _engine(number: int, network: EngineNetwork, addresses: IPv4Network) -> LocalEngine:
    name = f"engine-{number}"
    return LocalEngine(
        number=number,
        name=name,
        socket=f"unix://{_root() / name / 'docker.sock'}",
        address=str(addresses[number]),
        namespace=network.namespace(number),
    )


def _remove() -> None:
    """Remove whatever there is of the cluster. Idempotent."""
    network = _network()
    for namespace in (*network.existing(), network.hub):
        kill_members(namespace, _group())
    for folder in _runtime().glob("*"):
        _forget(folder)
    network.remove()
    remove_groups(_group())
    disks = [folder for folder in _root().glob("*") if folder.is_dir()]
    with ThreadPoolExecutor(_DISKS) as pool:
        for removed in [pool.submit(_remove_folder, disk) for disk in disks]:
            removed.result()
    for place in (_runtime(), _root()):
        _remove_folder(place)


def _forget(runtime: Path) -> None:
    """Remove the folder `runtime` of an engine that was killed, with its mounts and sockets."""
    remove_shim_sockets(runtime / "containerd")
    _remove_folder(runtime)


def _remove_folder(folder: Path) -> None:
    unmount(folder)
    with suppress(FileNotFoundError):
        shutil.rmtree(folder)


# -- the image -----------------------------------------------------------------------------------


def _fill(
    usual: DockerClient,
    engines: Sequence[LocalEngine],
    tell: Callable[[str], None],
    sent: Callable[[int], None],
) -> None:
    """Send the node image of the `usual` engine to the first of `engines`; copy its disk to those
    of the others.

    A copy takes a third of the CPU time of loading the image once more.
    """
    began, image = time.monotonic(), node_image.name()
    first, *others = engines
    start(first)
    with _client(first) as client:
        send(usual, {first.name: client}, image, sent)
    kill(first)
    with ThreadPoolExecutor(_DISKS) as pool:
        for copy in [pool.submit(_copy_disk, first, other) for other in others]:
            copy.result()
    tell(f"{image} is on {counted(len(engines), 'disk')} after {time.monotonic() - began:.1f} s")


def _copy_disk(first: LocalEngine, other: LocalEngine) -> None:
    """Copy the disk of `first`, which is no node yet, to the engine `other`. Neither runs.

    They share the layers of images as hard links: an engine never changes a layer's files.
    """
    here, there = _folder(first), _folder(other)
    (there / "data").mkdir(parents=True)
    if (here / "containerd").exists():
        _copy(here / "containerd", there)
    for disk in (here / "data").iterdir():
        _copy(disk, there / "data", *(["--link"] if disk.name == _LAYERS else []))
    (there / "data" / "engine-id").unlink(missing_ok=True)  # newer engines have one


def _copy(folder: Path, to: Path, *options: str) -> None:
    called = ["cp", "--archive", *options, str(folder), str(to)]
    done = subprocess.run(called, capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        raise HostError(f"cannot copy {folder}: {done.stderr.strip()}")


# -- an engine -----------------------------------------------------------------------------------


def _boot(engine: LocalEngine, addresses: IPv4Network) -> None:
    """Start the processes of `engine`, which outlive this one and its terminal."""
    folder, runtime = _folder(engine), _runtime() / str(engine.number)
    for place in (folder, runtime):
        place.mkdir(parents=True, exist_ok=True)
    (folder / "pid").unlink(missing_ok=True)  # another process may have the number by now
    (folder / "daemon.json").write_text("{}", encoding="utf-8")  # the machine's is not read
    (folder / "containerd.toml").write_text(_containerd(folder, runtime), encoding="utf-8")
    _network().plug(engine.number, addresses)
    # in its namespace before it is left to itself: nothing that was started is ever missed
    around = ["nsenter", f"--net={NAMESPACES / engine.namespace}", "setsid", "--fork"]
    boot = ["unshare", "--uts", "sh", "-c", _BOOT, "sh", engine.name]
    with (folder / "log").open("ab") as log:
        subprocess.run(
            [*around, *boot, str(folder / "containerd.toml"), *_dockerd(engine, folder, runtime)],
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, "PATH": PATHS},
        )


def _dockerd(engine: LocalEngine, folder: Path, runtime: Path) -> list[str]:
    """Return the command of the engine."""
    return [
        *("dockerd", "--config-file", str(folder / "daemon.json"), "--host", engine.socket),
        *("--data-root", str(folder / "data"), "--exec-root", str(runtime / "docker")),
        *("--pidfile", str(folder / "pid"), "--bridge", "none"),
        *("--containerd", str(runtime / "containerd.sock")),
        *("--exec-opt", "native.cgroupdriver=cgroupfs"),  # with systemd groups have other places
        *("--cgroup-parent", f"{_group()}/{engine.number}"),
    ]


def _containerd(folder: Path, runtime: Path) -> str:
    """Return the configuration of the engine's containerd."""
    return f"""version = 2
root = "{folder}/containerd"
state = "{runtime}/containerd"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
address = "{runtime}/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
path = "{folder}/opt"
"""


def _await(engine: LocalEngine) -> None:
    """Wait until `engine` answers. Raises HostError if it does not."""
    ends = time.monotonic() + _PATIENCE
    while not engine.up():
        gone = not [*members(engine.namespace, f"{_group()}/{engine.number}")]
        if gone or time.monotonic() > ends:
            log = _folder(engine) / "log"
            said = log.read_text(encoding="utf-8", errors="replace").strip()
            raise HostError(f"{engine.name} did not come up: {said[-2000:] or 'it says nothing'}")
        time.sleep(_LOOK)


@contextmanager
def _client(engine: LocalEngine) -> Iterator[DockerClient]:
    """Yield a client of `engine`. Raises HostError if the engine does not answer."""
    try:
        client = DockerClient(base_url=engine.socket, timeout=120)
    except (DockerException, requests.RequestException) as error:
        raise HostError(f"{engine.name} does not answer at {engine.socket}: {error}") from error
    with closing(client):
        yield client


# -- the Swarm -----------------------------------------------------------------------------------


def _begin(made: LocalEngines, tell: Callable[[str], None]) -> None:
    """Start the engines, and join them to a Swarm."""
    began = time.monotonic()
    for engine in made.engines:
        _boot(engine, IPv4Network(made.addresses))
    for engine in made.engines:
        _await(engine)
    _join(made.engines)
    tell(f"{counted(len(made.engines), 'node')} ready after {time.monotonic() - began:.1f} s")


def _join(engines: Sequence[LocalEngine]) -> None:
    """Make a Swarm of which the first of `engines` is the manager, and wait until all are ready."""
    first, *others = engines
    with _client(first) as manager, refusals("making a Swarm of the local engines"):
        manager.api.init_swarm(advertise_addr=first.address)
        token = manager.api.inspect_swarm()["JoinTokens"]["Worker"]
        with ThreadPoolExecutor(max(1, len(others))) as pool:
            joins = [pool.submit(_join_one, each, first.address, token) for each in others]
        for join in joins:
            join.result()
        for node in manager.api.nodes():
            spec = node["Spec"] | {
                "Labels": {SOCKET_LABEL: f"{_root()}/{{{{.Node.Hostname}}}}/docker.sock"}
            }
            manager.api.update_node(node["ID"], node["Version"]["Index"], spec)
        ends = time.monotonic() + _PATIENCE
        while (ready := _ready(manager)) < len(engines):
            if time.monotonic() > ends:
                raise HostError(f"{ready} of {len(engines)} nodes of the Swarm are ready")
            time.sleep(_LOOK)


def _join_one(engine: LocalEngine, manager: str, token: str) -> None:
    with _client(engine) as client:
        client.api.join_swarm([f"{manager}:2377"], token, advertise_addr=engine.address)


def _ready(manager: DockerClient) -> int:
    """Return how many nodes of the Swarm are ready."""
    return sum(node["Status"]["State"] == "ready" for node in manager.api.nodes())
