"""The network of the local engines: a namespace for each, and a switch that joins them.

    this machine ── uplink ── hub namespace: a bridge ──┬── namespace of engine 1, address .1
                    .254                                ├── namespace of engine 2, address .2

The bridge has a namespace of its own because a Docker engine on this machine may have set the
firewall to drop what bridges of the machine forward. Engines have no route beyond their network, so
none can pull an image from outside.
"""

import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from json import loads
from pathlib import Path

from ...errors import HostError

NAMESPACES = Path("/run/netns")
"""Folder in which the program `ip` mounts the namespaces that it makes."""
PATHS = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
"""Where root's programs are, also for a user without these folders in PATH."""
MOST = 250
"""Most engines of a network of 254 addresses, one of which is this machine's."""

_CHOICE = IPv4Network("10.99.0.0/16")
"""Range of the networks of local engines. Swarm's overlays begin at 10.0.0.0."""


@dataclass(frozen=True)
class EngineNetwork:
    """Names of the namespaces and interfaces of the engines of a cluster."""

    tag: str
    """Eight letters that no other cluster of this machine has."""

    @property
    def uplink(self) -> str:
        """The interface by which this machine reaches the engines."""
        return f"em{self.tag}"

    @property
    def hub(self) -> str:
        """The namespace of the bridge."""
        return f"emulate-{self.tag}-hub"

    def namespace(self, number: int) -> str:
        """Return the namespace of the engine `number`."""
        return f"emulate-{self.tag}-{number}"

    def existing(self) -> list[str]:
        """Return the namespaces of this cluster that exist."""
        return sorted(path.name for path in NAMESPACES.glob(f"emulate-{self.tag}-*"))

    def make(self) -> IPv4Network:
        """Make the bridge, and join this machine to it; return the addresses."""
        addresses = self._free()
        _ip(
            f"netns add {self.hub}",
            f"link add {self.uplink} type veth peer name uplink netns {self.hub}",
            f"addr add {addresses[254]}/{addresses.prefixlen} dev {self.uplink}",
            f"link set {self.uplink} up",
        )
        _ip(
            "link set lo up",
            "link add bridge type bridge",
            "link set bridge up",
            "link set uplink master bridge",
            "link set uplink up",
            inside=self.hub,
        )
        return addresses

    def plug(self, number: int, addresses: IPv4Network) -> None:
        """Join the engine `number` to the bridge by a namespace, unless it has one."""
        own = self.namespace(number)
        if own in self.existing():
            return
        _ip(f"netns add {own}")
        _ip(
            f"link add engine-{number} type veth peer name eth0 netns {own}",
            f"link set engine-{number} master bridge",
            f"link set engine-{number} up",
            inside=self.hub,
        )
        _ip(
            "link set lo up",
            f"addr add {addresses[number]}/{addresses.prefixlen} dev eth0",
            "link set eth0 up",
            inside=own,
        )

    def unplug(self, number: int) -> None:
        """Remove the namespace of the engine `number`, if it exists, with its interfaces."""
        if (own := self.namespace(number)) in self.existing():
            # the namespace lives on while anything holds it: the cable is pulled now
            _ip(f"link del engine-{number}", inside=self.hub, force=True)
            _ip(f"netns del {own}")

    def remove(self) -> None:
        """Remove the namespaces and links of the network that exist."""
        if (Path("/sys/class/net") / self.uplink).exists():
            _ip(f"link del {self.uplink}")
        _ip(*(f"netns del {name}" for name in self.existing()))

    def _free(self) -> IPv4Network:
        """Return a network of 254 addresses that no route of this machine overlaps."""
        taken = [*_routes()]
        choices = [*_CHOICE.subnets(new_prefix=24)]
        first = int(self.tag, 16) % len(choices)  # two clusters that begin at once should differ
        for choice in choices[first:] + choices[:first]:
            if not any(choice.overlaps(other) for other in taken):
                return choice
        raise HostError(f"this machine has routes to all of {_CHOICE}: no engine can have its own")


def _ip(*commands: str, inside: str = "", force: bool = False) -> None:
    """Have the program `ip` do all `commands`, in the namespace `inside` if it is named.

    Raises HostError if a command fails, but not with `force`.
    """
    where, how = (("-n", inside) if inside else ()), (("-force",) if force else ())
    done = _run(["ip", *where, *how, "-batch", "-"], "\n".join(commands))
    if done.returncode and not force:
        raise HostError(f"the program `ip` refused {'; '.join(commands)}: {done.stderr.strip()}")


def _routes() -> Iterator[IPv4Network]:
    """Yield the addresses to which this machine has routes, but not its default route."""
    for route in loads(_run(["ip", "-json", "-4", "route", "show", "table", "all"]).stdout or "[]"):
        if str(route["dst"])[0].isdigit():
            yield IPv4Network(route["dst"])


def _run(command: Sequence[str], text: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command,
        input=text,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PATH": PATHS},
    )
