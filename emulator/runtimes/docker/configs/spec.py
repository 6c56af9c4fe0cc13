"""Makes the engine's keyword arguments for a node's container and for the network. Pure."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker.types import IPAMConfig, IPAMPool

from ....machine import kernel
from ....node import config
from ....node.forking import containment
from ....node.forking.fork_messages import TRIAL
from ....world.cpu_quota import PERIOD
from ....world.roles import EVALUATOR, SERVER

CAPABILITIES = ("KILL", "NET_ADMIN", "SETGID", "SETUID")
"""Capabilities of the supervisor: it shapes links, and runs, pauses and kills a child of lesser
rights. The child parses the bytes of peers, and has none of these capabilities."""

PROCESSES = 64

SYSCTLS = {"net.ipv4.tcp_orphan_retries": "1"}
"""Kernel parameters of a container. A container outlives the crash of its node, and by default its
kernel goes on for minutes to send the dead process's data, on the connection that the server knows.
With 1 retry it gives up within seconds; a device without power does at once."""

FORWARDING = {"net.ipv4.ip_forward": "1", "net.ipv4.conf.all.send_redirects": "0"}
"""Kernel parameters of a gateway: it forwards, and tells nobody of a way around it."""

BOX = "packet_box"
"""Name of the box beside the names of nodes; no device can have it, for the sake of the `_`."""
BOX_READY = 30.0
"""Seconds that the box, or the sidecar of a foreign container, has until it serves."""

TUN = "/dev/net/tun"
"""Device through which TAP devices are made; the engine gives it to containers on request."""

SHARES = {BOX: 262144, SERVER: 65536, EVALUATOR: 2}
"""Weights by which containers share a core that several want; a device has 1024, the default of
the engine. The box holds the packets of all, so it comes first. Server and evaluator are on no
device: devices should not notice the server's work, nor wait for the evaluator, which occupies a
core while it scores the test set."""

USUAL_PERIOD = round(PERIOD * 1e6)
"""Microseconds in which a container may use its CPU quota once, without a dilation."""
LONGEST_PERIOD = 1_000_000
"""Microseconds. The kernel refuses a longer period of a CPU quota."""

LEAST_TIME = 1_000
"""Microseconds. The engine refuses a shorter time in a period, so a quota below `LEAST_QUOTA` cores
is refused before a run."""

ALONE = {
    "com.docker.network.bridge.inhibit_ipv4": "true",
    "com.docker.network.enable_ipv6": "false",
}
"""Options that give the bridge no address, and containers only one of version 4. An internal
network leads nowhere beyond the host, but by the bridge's address it would lead to every port on
which the host listens at 0.0.0.0. An engine may have networks with IPv6 by default."""

BRIDGE: dict[str, Any] = {"driver": "bridge", "options": ALONE}
"""Options of a network of this machine alone."""

CONFINED: dict[str, Any] = {
    "cap_drop": ["ALL"],
    # SELinux lets no labelled container read a file in somebody's home
    "security_opt": ["no-new-privileges", "label=disable"],
    # users are this host's, also on an engine that remaps them: they own the mounted files
    "userns_mode": "host",
    # control groups are read below the container's own, whichever the engine's default is
    "cgroupns": "private",
    "read_only": True,
}
"""Options of all containers. `engine_traits` tells which engines cannot keep them."""

FORK_SERVER = "fork_server"
"""Name of the fork server beside the names of nodes."""
SHARDS = "shards"
"""Name of the volume with the sockets between the shards of the server."""
FORKS = {
    "cap_add": [*CAPABILITIES, "SETPCAP", "SYS_ADMIN", "SYS_CHROOT", "SYS_PTRACE"],
    "security_opt": [*CONFINED["security_opt"], "seccomp=unconfined"],
    "cgroupns": "host",
    "pid_mode": "host",
}
"""What the fork server needs: the host's processes and control groups, to move a fork into those of
a container, and no seccomp filter, as only such a process may read the filter of another one. The
bounding set of a fork is that of a container, so the fork server has those capabilities, too. Yama
lets nobody read another process without CAP_SYS_PTRACE. It
has no network, and hears the conductor alone."""


@dataclass(frozen=True)
class Container:
    """The specification of a node's container."""

    node: str
    image: str
    network: str
    labels: dict[str, str]
    mounts: dict[str, Path]
    """Paths in the container, with their sources on the host; only `config.OUTPUT` is writable."""
    cpu: float | None = None
    """Cores, undilated; None: no quota."""
    dilation: float = 1.0
    """Number by which the cores are divided."""
    memory: int | None = None
    """Bytes; None: no limit."""
    congestion: str | None = None
    """TCP congestion control; None: the host's."""
    address: str | None = None
    """Address on the network; None: the engine gives one."""
    gateway: bool = False
    """Whether the container forwards the packets of others."""
    kept: int = 0
    """Bytes that the node may store at once in its scratch folder, beside the usual 16 MiB."""
    boxed: bool = False
    """Whether the node's packets pass the run's box."""
    full_packets: bool = False
    """Whether TCP makes each packet as long as the queues on its way allow."""
    files: int | None = None
    """Files that a process may open, as the probe has found; None: as many as the engine says."""
    shards: bool = False
    """Whether the node is a shard of the server, and has the folder of their sockets."""


def name(run: str, node: str) -> str:
    """Return the engine's name for the container of `node` in `run`."""
    return f"emulate-{run}-{node}"


def network_name(run: str, number: int) -> str:
    """Return the engine's name for the network of the bridge `number` of `run`, counted from 0."""
    return name(run, f"wan-{number + 1}" if number else "wan")


def box_volume(run: str, labels: dict[str, str]) -> dict[str, Any]:
    """Return keyword arguments for `docker.volumes.create`: the folder of the box's socket.

    It is in memory, and only root may enter it, so no part of a node can speak to the box.
    """
    return {
        "name": name(run, BOX),
        "driver": "local",
        "driver_opts": {"type": "tmpfs", "device": "tmpfs", "o": "size=64k,mode=0700"},
        "labels": labels,
    }


def shards_volume(run: str, labels: dict[str, str], user: int) -> dict[str, Any]:
    """Return keyword arguments for `docker.volumes.create`: the folder of the sockets between the
    shards of the server. It is in memory, and only `user`, as which the shards run, may enter it.
    """
    own = f"size=64k,mode=0700,uid={user},gid={user}"
    return {
        "name": name(run, SHARDS),
        "driver": "local",
        "driver_opts": {"type": "tmpfs", "device": "tmpfs", "o": own},
        "labels": labels,
    }


def box(
    run: str, image: str, labels: dict[str, str], seed: int, files: int | None = None
) -> dict[str, Any]:
    """Return keyword arguments for `docker.containers.create`: the box, which holds packets.

    `files` as of a `Container`.

    It needs no network and no right: the containers send it descriptors of TAP devices. A CPU quota
    would add hundreds of milliseconds to every delay.
    """
    return {
        "image": image,
        "name": name(run, BOX),
        "hostname": "box",
        "labels": labels,
        "entrypoint": ["python3", "-m", "emulator.node.link.box_life"],
        "command": ["--socket", str(config.BOX), "--seed", str(seed)],
        "network_mode": "none",
        **CONFINED,
        "mounts": [_box_mount(run)],
        "pids_limit": PROCESSES,
        "cpu_shares": SHARES[BOX],
        "ulimits": _limits(files),
        "log_config": {"Type": "none", "Config": {}},
        "stdin_open": True,
        "auto_remove": True,
    }


def fork_trial(run: str, image: str, labels: dict[str, str]) -> dict[str, Any]:
    """Return keyword arguments for `docker.containers.create`: a fork server that only says whether
    it could fork."""
    return fork_server(run, image, labels) | {
        "command": [TRIAL],
        "log_config": {"Type": "json-file", "Config": {}},
        "stdin_open": False,
        "auto_remove": False,
    }


def fork_server(
    run: str, image: str, labels: dict[str, str], files: int | None = None
) -> dict[str, Any]:
    """Return keyword arguments for `docker.containers.create`: the fork server of a run.

    `files` as of a `Container`.
    """
    return {
        "image": image,
        "name": name(run, FORK_SERVER),
        "hostname": "forks",
        "labels": labels,
        "entrypoint": ["python3", "-m", "emulator.node.forking.fork_server"],
        "network_mode": "none",
        **CONFINED,
        **FORKS,
        "mounts": [
            {
                "Type": "bind",
                "Target": str(containment.GROUPS),
                "Source": "/sys/fs/cgroup",
                "ReadOnly": False,
            }
        ],
        "ulimits": _limits(files),
        "log_config": {"Type": "none", "Config": {}},
        "stdin_open": True,
        "auto_remove": True,
    }


def foreign_end(
    run: str, image: str, labels: dict[str, str], container: str, boxed: bool
) -> dict[str, Any]:
    """Return keyword arguments for `docker.containers.create`: the sidecar of a foreign container.

    It is in the network of the container with the id `container`; `boxed` as of a node.
    """
    return {
        "image": image,
        "name": name(run, "link"),
        "labels": labels,
        "entrypoint": ["python3", "-m", "emulator.node.link.foreign_end"],
        "network_mode": f"container:{container}",
        **CONFINED,
        "cap_add": ["NET_ADMIN"],
        "tmpfs": {"/tmp": "size=1m", "/run": "size=1m"},
        "mounts": [_box_mount(run)] if boxed else [],
        "devices": [TUN] if boxed else [],
        "pids_limit": PROCESSES,
    }


def _box_mount(run: str) -> dict[str, Any]:
    folder = str(config.BOX.parent)
    return {"Type": "volume", "Target": folder, "Source": name(run, BOX), "ReadOnly": False}


def network(
    name: str, labels: dict[str, str], subnet: str | None = None, *, overlay: bool = False
) -> dict[str, Any]:
    """Return keyword arguments for `docker.networks.create`.

    Containers on this network reach each other, but neither the host nor any other network. The
    engine takes addresses of containers on a network with a `subnet` only. `overlay`: whether the
    network joins the containers of several hosts of a swarm.
    """
    pools = [IPAMPool(subnet=subnet)] if subnet else []
    return {
        "name": name,
        **({"driver": "overlay", "attachable": True} if overlay else BRIDGE),
        "internal": True,
        "labels": labels,
        **({"ipam": IPAMConfig(pool_configs=pools)} if pools else {}),
    }


def container(wanted: Container) -> dict[str, Any]:
    """Return keyword arguments for `docker.containers.create`."""
    kwargs: dict[str, Any] = {
        "image": wanted.image,
        "name": name(wanted.labels["emulate.run"], wanted.node),
        "hostname": wanted.node,
        "labels": wanted.labels,
        "network": wanted.network,
        **CONFINED,
        "cap_add": list(CAPABILITIES),
        "tmpfs": {"/tmp": f"size={16 + _mebibytes(wanted.kept)}m,mode=1777", "/run": "size=1m"},
        "mounts": [_mount(target, source) for target, source in sorted(wanted.mounts.items())],
        "pids_limit": PROCESSES,
        "sysctls": _sysctls(wanted),
        "ulimits": _limits(wanted.files),
        "log_config": {
            "Type": "none",
            "Config": {},
        },  # this process writes the output to the run's folder
        "stdin_open": True,  # the lifeline: at its end the supervisor ends the container
        "auto_remove": True,
    }
    if wanted.address is not None:
        endpoint = {"IPAMConfig": {"IPv4Address": wanted.address}}
        kwargs["networking_config"] = {wanted.network: endpoint}
    if wanted.gateway:
        kwargs |= {"cap_add": ["NET_ADMIN"], "sysctls": FORWARDING, "cpu_shares": SHARES[SERVER]}
    if wanted.boxed:
        kwargs["devices"] = [TUN]
        kwargs["mounts"].append(_box_mount(wanted.labels["emulate.run"]))
    if wanted.shards:
        volume = name(wanted.labels["emulate.run"], SHARDS)
        folder = str(config.SHARDS)
        kwargs["mounts"].append(
            {"Type": "volume", "Target": folder, "Source": volume, "ReadOnly": False}
        )
        kwargs["cpu_shares"] = SHARES[SERVER]
    if wanted.node in SHARES:
        kwargs["cpu_shares"] = SHARES[wanted.node]
    if (quota := cpu_quota(wanted.cpu, wanted.dilation)) is not None:
        # not as `nano_cpus`, which the engine could not take off again
        kwargs["cpu_period"], kwargs["cpu_quota"] = quota
    if wanted.memory is not None:
        kwargs["mem_limit"] = kwargs["memswap_limit"] = wanted.memory
    return kwargs


def probe(wanted: Container, command: list[str], *, tun: bool) -> dict[str, Any]:
    """Return keyword arguments for `docker.containers.create`: a container that only reports.

    Apart from the network it is made as a node's. `tun`: whether it asks for `TUN`.
    """
    kwargs = container(wanted)
    del kwargs["network"]
    return kwargs | {
        "network_mode": "none",
        "entrypoint": command,
        "command": [],
        "devices": [TUN] if tun else [],
        "log_config": {"Type": "json-file", "Config": {}},
        "stdin_open": False,
        "auto_remove": False,
    }


def measurement(wanted: Container, user: int) -> dict[str, Any]:
    """Return keyword arguments for `docker.containers.create`: a container that measures the kept
    versions of the model.

    It has no network and no right, and runs as `user`.
    """
    kwargs = container(wanted)
    del kwargs["network"], kwargs["sysctls"]
    return kwargs | {
        "network_mode": "none",
        "entrypoint": ["python3", "-m", "emulator.node.part.kept_versions"],
        "command": [],
        "cap_add": [],
        "user": f"{user}:{user}",
    }


def cpu_quota(cpu: float | None, dilation: float = 1.0) -> tuple[int, int] | None:
    """Return the period, and the time in it that a container may use, in microseconds.

    `cpu`: cores, undilated; None: no quota. A world that is played slower has slower cores, so a
    container without a quota gets one. The period is `PERIOD` emulated seconds where the kernel
    takes one as long, so that the container rests as long as it would without the dilation.
    """
    if cpu is None and dilation == 1:
        return None
    period = min(LONGEST_PERIOD, round(USUAL_PERIOD * dilation))
    return period, max(LEAST_TIME, round((1.0 if cpu is None else cpu) / dilation * period))


def _limits(files: int | None) -> list[dict[str, Any]]:
    """Return the limits of a container's processes, in place of the engine's own.

    An engine that may not give as many `files` as asked for starts no container, so no number is
    asked for that the probe's container did not have.
    """
    opened = [] if files is None else [{"Name": "nofile", "Soft": files, "Hard": files}]
    return [{"Name": "core", "Soft": 0, "Hard": 0}, *opened]


def _sysctls(wanted: Container) -> dict[str, str]:
    control = {} if wanted.congestion is None else {kernel.CONGESTION: wanted.congestion}
    packets = kernel.FULL_PACKETS if wanted.full_packets else {}
    return {**SYSCTLS, **control, **packets}


def _mebibytes(size: int) -> int:
    """Return `size` bytes in MiB, rounded up."""
    return -(-size // 2**20)


def _mount(target: str, source: Path) -> dict[str, Any]:
    writable = target == str(config.OUTPUT)
    return {"Type": "bind", "Target": target, "Source": str(source), "ReadOnly": not writable}
