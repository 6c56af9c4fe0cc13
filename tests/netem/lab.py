"""A node and the rest of the world: two network namespaces, a cable, and what can be measured."""

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from emulator.shaping.command import Command, apply

Way = Literal["up", "down"]
FLOW = str(Path(__file__).with_name("flow.py"))
HOLD = str(Path(__file__).with_name("hold.py"))
_numbers = itertools.count()


@dataclass(frozen=True)
class Message:
    """One that arrived; times are the host's monotonic clock's."""

    size: int
    sent: float
    begun: float
    """When its first bytes came."""
    received: float

    @property
    def took(self) -> float:
        return self.received - self.sent


@dataclass
class Lab:
    """`near` is the node, on whose eth0 all shaping happens; `far` is everyone else."""

    near: str
    far: str
    children: list["subprocess.Popen[str]"] = field(default_factory=list)
    ports: Iterator[int] = field(default_factory=lambda: itertools.count(7000))

    def shape(self, commands: list[Command]) -> None:
        """Run them in the node; none may have anything to complain of."""
        said = apply(commands, inside=_inside(self.near))
        assert not said, said

    def outside(self, commands: list[Command]) -> None:
        """Run them at the far end, which is as it was made otherwise."""
        apply(commands, inside=_inside(self.far))

    def stream(
        self,
        way: Way,
        size: int,
        count: int = 1,
        gap: float = 0.0,
        control: str = "cubic",
        pause: float = 0.0,
        limit: float = 0.0,
    ) -> "Stream":
        """Start sending messages over a TCP connection of their own, `pause` seconds old.

        Only messages that arrive within `limit` seconds are seen; 0 is no limit.

        Its congestion control is named, since a host's default may be another than Linux's, and
        loss means something else to it.
        """
        start, end = (self.near, self.far) if way == "up" else (self.far, self.near)
        port = str(next(self.ports))
        sink = self._run(end, "sink", port, str(limit))
        words = [_address(way), port, str(size), str(count), str(gap), control, str(pause)]
        return Stream(sink, self._run(start, "source", *words))

    def wake(self, port: int) -> None:
        """Send an empty datagram to the far end."""
        to = f"('{_address('up')}', {port})"
        words = f"import socket as s; s.socket(s.AF_INET, s.SOCK_DGRAM).sendto(b'', {to})"
        subprocess.run([*_inside(self.near), sys.executable, "-I", "-S", "-c", words], check=True)

    def carried(self, device: str) -> int:
        """Return the bytes of frames that have left the queue of the node's `device`."""
        command = ["ip", "-s", "-j", "link", "show", "dev", device]
        shown = subprocess.run([*_inside(self.near), *command], check=True, capture_output=True)
        return int(json.loads(shown.stdout)[0]["stats64"]["tx"]["bytes"])

    def ping(self, count: int, gap: float = 0.001, wait: float = 1.0) -> list[float | None]:
        """Round trips from the node, in order of sending; None for what was lost."""
        port = str(next(self.ports))
        echo = self._run(self.far, "echo", port)
        assert echo.stdout is not None
        assert echo.stdout.readline() == "ready\n"
        ping = self._run(self.near, "ping", _address("up"), port, str(count), str(gap), str(wait))
        times: list[float | None] = _result(ping)
        echo.kill()
        return times

    def spray(
        self, way: Way, count: int, gap: float, size: int = 16, wait: float = 1.0
    ) -> list[tuple[int, float, float]]:
        """Number, time of sending and of arrival of each datagram, in order of arrival."""
        gather, spray = self.flood(way, count, gap, size, wait)
        _result(spray)
        return [(number, sent, received) for number, sent, received in _result(gather)]

    def flood(
        self, way: Way, count: int, gap: float, size: int, wait: float = 1.0
    ) -> "tuple[subprocess.Popen[str], subprocess.Popen[str]]":
        """Start sending datagrams; return the process that takes them, and the one that sends."""
        start, end = (self.near, self.far) if way == "up" else (self.far, self.near)
        port = str(next(self.ports))
        gather = self._run(end, "gather", port, str(wait))
        assert gather.stdout is not None
        assert gather.stdout.readline() == "ready\n"
        words = [_address(way), port, str(count), str(gap), str(size)]
        return gather, self._run(start, "spray", *words)

    def _run(self, inside: str, *words: str) -> "subprocess.Popen[str]":
        child = subprocess.Popen(
            [*_inside(inside), sys.executable, "-I", "-S", FLOW, *words],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.children.append(child)
        return child

    def end(self) -> None:
        for child in self.children:
            child.kill()
            child.communicate()
        for name in (self.near, self.far):
            apply([Command.of(f"ip netns del {name}", lenient=True)])


@dataclass(frozen=True)
class Stream:
    """A connection that is being used."""

    sink: "subprocess.Popen[str]"
    source: "subprocess.Popen[str]"

    def messages(self) -> list[Message]:
        """Return all messages after the last one has arrived."""
        seen = [Message(*entry) for entry in _result(self.sink)]
        return seen

    def again(self) -> int:
        """How many segments TCP sent again, once all have arrived."""
        times: int = _result(self.source)
        return times


@contextmanager
def lab(delay: float = 0.0) -> Iterator[Lab]:
    """Unshaped so far; nothing of it is left afterwards.

    The cable takes `delay` seconds each way, also on a kernel without netem.
    """
    name = f"emulate-{os.getpid()}-{next(_numbers)}"
    made = Lab(f"{name}-near", f"{name}-far")
    try:
        _build(made, delay)
        yield made
    finally:
        made.end()


def _build(made: Lab, delay: float) -> None:
    apply(Command.of(f"ip netns add {name}") for name in (made.near, made.far))
    if delay:
        _hold(made, delay)
    else:
        ends = f"eth0 netns {made.near} type veth peer name eth0 netns {made.far}"
        apply([Command.of(f"ip link add {ends}")])
    lines = [
        f"ip -n {made.near} address add {_address('down')}/24 dev eth0",
        f"ip -n {made.far} address add {_address('up')}/24 dev eth0",
        f"ip -n {made.near} link set eth0 up",
        f"ip -n {made.far} link set eth0 up",
    ]
    apply(Command.of(line) for line in lines)


def _hold(made: Lab, delay: float) -> None:
    """A cable whose two ends are TAP devices, with a process between them."""
    words = [sys.executable, "-I", "-S", HOLD, made.near, made.far, str(delay)]
    holding = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    made.children.append(holding)
    assert holding.stdout is not None
    assert holding.stdout.readline() == "ready\n"


def _address(way: Way) -> str:
    """Return the address at which packets in this direction arrive."""
    return "10.80.78.2" if way == "up" else "10.80.78.1"


def _inside(name: str) -> list[str]:
    return ["ip", "netns", "exec", name]


def _result(child: "subprocess.Popen[str]") -> Any:
    said, _ = child.communicate(timeout=60)
    assert child.returncode == 0, f"{child.args} failed"
    return json.loads(said)
