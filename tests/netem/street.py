"""Members behind a gateway, a server, and the bridge between them, as network namespaces."""

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from emulator.shaping import gateway
from emulator.shaping.backend import Backend
from emulator.shaping.command import Command, apply
from emulator.world.links.bottleneck import SharedLink
from tests.netem.lab import FLOW, Stream, Way

_numbers = itertools.count()
_SUBNET = "10.80.79"
_SERVER, _GATEWAY, _FIRST = 1, 2, 3
_FORWARD = "sysctl -q -w net.ipv4.ip_forward=1 net.ipv4.conf.all.send_redirects=0"
_QUIET = "from emulator.node.link.gateway_life import send_no_redirects as quiet; quiet('eth0')"


class Street:
    """`members` members, of which none has a link of its own that is shaped."""

    def __init__(self, name: str, members: int) -> None:
        self.bridge, self.server, self.gateway = (f"{name}-{part}" for part in ("bridge", "s", "g"))
        self.members = [f"{name}-{number}" for number in range(members)]
        self._children: list[subprocess.Popen[str]] = []
        self._ports = itertools.count(7000)

    def shape(self, member: int, commands: list[Command]) -> None:
        """Run commands in a member."""
        apply(commands, inside=_inside(self.members[member]))

    def stream(
        self, member: int, way: Way, size: int, count: int = 1, control: str = "cubic"
    ) -> Stream:
        """Start to send messages between a member and the server, on a connection of their own."""
        ends = [(self.members[member], _FIRST + member), (self.server, _SERVER)]
        (start, _), (end, number) = ends if way == "up" else ends[::-1]
        port = str(next(self._ports))
        sink = self._run(end, "sink", port)
        words = [f"{_SUBNET}.{number}", port, str(size), str(count), "0", control, "0.5"]
        return Stream(sink, self._run(start, "source", *words))

    def _run(self, name: str, *words: str) -> "subprocess.Popen[str]":
        command = [*_inside(name), sys.executable, "-I", "-S", FLOW, *words]
        self._children.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return self._children[-1]

    def passed(self) -> dict[Way, list[int]]:
        """Return the bytes of each member that have left the queues of the gateway."""
        return {"up": self._sent(gateway.UP), "down": self._sent(gateway.DOWN)}

    def _sent(self, device: str) -> list[int]:
        words = [*_inside(self.gateway), "tc", "-s", "class", "show", "dev", device]
        shown = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        # the classes of members have the numbers from 2 on
        sent = {
            int(text.split()[1].split(":")[1], 16): int(text.split("Sent ")[1].split()[0])
            for text in shown.split("class ")
            if text.startswith("htb ")
        }
        return [sent[number] for number in range(2, 2 + len(self.members))]

    def build(self, shared: SharedLink, backend: Backend) -> None:
        nodes = [(self.server, _SERVER), (self.gateway, _GATEWAY)]
        nodes += [(name, _FIRST + number) for number, name in enumerate(self.members)]
        _apply(f"ip netns add {self.bridge}", f"ip -n {self.bridge} link add br0 type bridge")
        _apply(f"ip -n {self.bridge} link set br0 up")
        for name, number in nodes:
            _apply(
                f"ip netns add {name}",
                f"ip link add eth0 netns {name} type veth peer name p{number} netns {self.bridge}",
                f"ip -n {self.bridge} link set p{number} master br0 up",
                f"ip -n {name} address add {_SUBNET}.{number}/24 dev eth0",
                f"ip -n {name} link set eth0 up",
            )
        to, via = f"{_SUBNET}.{_SERVER}", f"{_SUBNET}.{_GATEWAY}"
        for name, number in nodes[2:]:
            apply([gateway.route(to, via)], inside=_inside(name))
            apply([gateway.route(f"{_SUBNET}.{number}", via)], inside=_inside(self.server))
        quiet = Command((sys.executable, "-c", _QUIET))
        apply([Command.of(_FORWARD), quiet], inside=_inside(self.gateway))
        members = [f"{_SUBNET}.{number}" for _, number in nodes[2:]]
        apply(gateway.forward(shared, to, members, backend), inside=_inside(self.gateway))

    def end(self) -> None:
        for child in self._children:
            child.kill()
            child.communicate()
        for name in (self.bridge, self.server, self.gateway, *self.members):
            apply([Command.of(f"ip netns del {name}", lenient=True)])


def _inside(name: str) -> list[str]:
    return ["ip", "netns", "exec", name]


def _apply(*lines: str) -> None:
    apply(Command.of(line) for line in lines)


@contextmanager
def street(shared: SharedLink, backend: Backend, members: int) -> Iterator[Street]:
    """Members that reach the server through the gateway of a bottleneck; nothing is left of it."""
    made = Street(f"emulate-{os.getpid()}-street-{next(_numbers)}", members)
    try:
        made.build(shared, backend)
        yield made
    finally:
        made.end()
