"""Watches the containers of a run from outside: processes, CPU quotas, packets, kernel's links."""

import re
import resource
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from docker import DockerClient
from docker.errors import APIError

EVERY = 0.08
"""Seconds between two looks at the processes."""

LINKS = """
while read uptime idle < /proc/uptime
do echo $uptime; tc qdisc show; {and_rules}; echo; echo .; sleep 0.2
done 2>/dev/null
"""
"""Shell command that shows a container's link to its standard output, again and again. A process
each of many containers would take the cores that the fleet needs."""

RULES = "nft list ruleset; cat /proc/net/snmp"
"""Command that shows nft's rules and TCP's counters."""

_ROLES = {b"emulator.node.part.role": "part", b"held_memory.py": "presser"}


class Sample(NamedTuple):
    """A look at a container."""

    at: float
    """Monotonic time, in seconds."""
    part: int | None
    """Process id of the worker or the server; None while it is down."""
    arguments: str
    """Words of the part's command line after the module's name."""
    stopped: bool
    """Whether the part's process is stopped, state `T`."""
    pressers: int
    """Number of processes that take memory for a fault."""
    quota: float | None
    """CPU quota in cores; None without one."""
    sent: int
    """Bytes that the interface has sent."""
    memory: int
    """Bytes of memory that the kernel counts for the container."""


class LinkSample(NamedTuple):
    """A look at a container's link."""

    at: float
    """Monotonic time, in seconds."""
    text: str
    """Output of `tc qdisc show`, and of `RULES` where rules are watched."""


@dataclass
class _Watched:
    """A container, and the places of the host that tell of it."""

    pid: int
    processes: Path
    quota: Path
    memory: Path
    link: "LinkWatch | None" = None


class Observer(threading.Thread):
    """Looks at the containers of the run in `folder` until it is told to end."""

    def __init__(self, client: DockerClient, folder: Path, linked: dict[str, bool]) -> None:
        """`linked`: names of devices with links to be watched; with True their rules, too."""
        super().__init__(daemon=True)
        self._client, self._folder, self._linked = client, folder, linked
        self._over = threading.Event()
        self._watched: dict[str, _Watched] = {}
        self._commands: dict[int, bytes] = {}
        self.samples: dict[str, list[Sample]] = {}
        self.links: dict[str, list[LinkSample]] = {}
        self.files: dict[str, tuple[int, int]] = {}
        """By node, the files that its container asked the engine for, and those that it has."""
        self.parts: set[int] = set()
        """All process ids that were seen in the containers."""

    def run(self) -> None:
        look = 0.0
        while not self._over.wait(EVERY):
            if time.monotonic() > look:
                self._find()
                look = time.monotonic() + 1.0
            for node, watched in self._watched.items():
                with suppress(OSError):  # the container has ended
                    self.samples.setdefault(node, []).append(self._sample(watched))

    def end(self) -> None:
        self._over.set()
        self.join()
        for node, watched in self._watched.items():
            if watched.link is not None:
                watched.link.join(10.0)
                self.links[node] = watched.link.samples

    def _find(self) -> None:
        """Begin to watch containers of the run that have started since the last call."""
        for container in self._client.api.containers(filters={"label": "emulate.folder"}):
            folder = Path(container["Labels"]["emulate.folder"])
            node = re.sub(r"^/emulate-[^-]*-", "", container["Names"][0])
            if not folder.is_relative_to(self._folder) or node in self._watched:
                continue
            with suppress(APIError, OSError):  # the container has ended
                known = self._client.api.inspect_container(container["Id"])
                pid, limits = known["State"]["Pid"], known["HostConfig"]["Ulimits"]
                (asked,) = (limit["Hard"] for limit in limits if limit["Name"] == "nofile")
                self.files[node] = asked, resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
                self._watched[node] = _Watched(pid, *_cgroup(pid))
                if node in self._linked:
                    self._watched[node].link = LinkWatch(
                        self._client, container["Id"], self._linked[node]
                    )

    def _sample(self, watched: _Watched) -> Sample:
        now = time.monotonic()
        part, arguments, stopped, pressers = None, "", False, 0
        for pid in map(int, watched.processes.read_text().split()):
            self.parts.add(pid)
            command = self._command(pid)
            role = next((role for word, role in _ROLES.items() if word in command), "")
            pressers += role == "presser"
            if role == "part" and (state := _state(pid)) not in ("Z", "X", ""):
                part, stopped = pid, state == "T"
                arguments = b" ".join(command.split(b"\0")[3:]).decode().strip()
        sent = _sent(watched.pid)
        quota, memory = _cores(watched.quota), int(watched.memory.read_text())
        return Sample(now, part, arguments, stopped, pressers, quota, sent, memory)

    def _command(self, pid: int) -> bytes:
        """Return the command line of the process `pid`; it changes when the process has begun."""
        known = self._commands.get(pid, b"")
        if not any(word in known for word in _ROLES):
            with suppress(OSError):
                known = self._commands[pid] = Path(f"/proc/{pid}/cmdline").read_bytes()
        return known


class LinkWatch(threading.Thread):
    """Reads what the kernel of a container says of its link."""

    def __init__(self, client: DockerClient, container: str, rules: bool) -> None:
        """`rules`: whether to read nft's rules and TCP's counters, too."""
        super().__init__(daemon=True)
        self.samples: list[LinkSample] = []
        self._client = client
        script = LINKS.format(and_rules=RULES if rules else ":")
        self._exec = client.api.exec_create(container, ["sh", "-c", script])["Id"]
        self._offset = time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()
        self.start()

    def run(self) -> None:
        said = self._client.api.exec_start(self._exec).decode()  # returns when the container ends
        for text in said.split("\n.\n")[:-1]:
            at = float(text.split()[0]) - self._offset
            self.samples.append(LinkSample(at, text))


def _cgroup(pid: int) -> tuple[Path, Path, Path]:
    """Return the files with the processes, quota and bytes of memory of the group of `pid`."""
    root = Path("/sys/fs/cgroup")
    places: dict[str, Path] = {}
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers and not (root / "cpu").exists():
            place = root / path.lstrip("/")
            return place / "cgroup.procs", place / "cpu.max", place / "memory.current"
        for name in controllers.split(","):
            places[name] = root / name / path.lstrip("/")
    if not {"cpu", "memory"} <= places.keys():
        raise FileNotFoundError(f"process {pid} has no groups of its own")
    cpu, memory = places["cpu"], places["memory"]
    return cpu / "cgroup.procs", cpu / "cpu.cfs_quota_us", memory / "memory.usage_in_bytes"


def _cores(quota: Path) -> float | None:
    first, *rest = quota.read_text().split()
    if first in ("max", "-1"):
        return None
    period = rest[0] if rest else quota.with_name("cpu.cfs_period_us").read_text()
    return int(first) / int(period)


def _state(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return ""


def _sent(pid: int) -> int:
    """Return the bytes that the interface of the container of `pid` has sent."""
    lines = Path(f"/proc/{pid}/net/dev").read_text().splitlines()
    found: list[Any] = [line.split(":")[1].split() for line in lines if "eth0:" in line]
    return int(found[0][8]) if found else 0
