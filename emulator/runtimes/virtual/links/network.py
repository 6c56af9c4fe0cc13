"""All links of a scenario in virtual time: each device's own, and the server's that they share."""

import math
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from .... import chance
from ....scenario import Group, Scenario
from ....world.link import FRAME, Link, Side
from ..clock.heap import Heap
from .link_group import Law, LinkGroup
from .server_link import Access
from .tcp import ACK, Tcp


class InterfaceBytes(NamedTuple):
    """Bytes of frames at a network interface."""

    rx: int
    tx: int


class Ways:
    """The links of one group of devices, which are known by number."""

    def __init__(self, up: LinkGroup, down: LinkGroup, acknowledged: float) -> None:
        self.up, self.down = up, down
        self._acknowledged = acknowledged

    def cut(self, who: int) -> None:
        self.up.cut(who)
        self.down.cut(who)

    def mend(self, who: int) -> None:
        self.up.mend(who)
        self.down.mend(who)

    def drop(self, who: int) -> None:
        self.up.drop(who)
        self.down.drop(who)

    def reconnect(self, who: int) -> bool:
        """Begin a new connection; return whether the device's end still had something to say."""
        self.down.reconnect(who, resend=False)
        return self.up.reconnect(who, resend=True)

    def count(self, who: int) -> InterfaceBytes:
        """At the device's interface; acknowledgements flow against what they are of."""
        return counted(self.down.carried(who), self.up.carried(who), self._acknowledged)


def counted(came: int, left: int, acknowledged: float) -> InterfaceBytes:
    """Frames of so many bytes of messages; `acknowledged`: bytes that come back for each."""
    rx, tx = came * FRAME + left * acknowledged, left * FRAME + came * acknowledged
    return InterfaceBytes(round(rx), round(tx))


def lay(heap: Heap, scenario: Scenario) -> list[Ways]:
    """The links of each group, in the scenario's order, behind the server's own."""
    server = scenario.server.link
    pushes = _access(heap, server.down)
    pulls = _access(heap, server.up)
    tcp = scenario.virtual.tcp
    return [
        Ways(
            _lines(heap, law(g.link, server, "up", tcp), scenario.seed, g, "up", pushes),
            _lines(heap, law(g.link, server, "down", tcp), scenario.seed, g, "down", pulls),
            acknowledgements(scenario),
        )
        for g in scenario.devices
    ]


def acknowledgements(scenario: Scenario) -> float:
    """Return the bytes that TCP sends back for each byte of a message."""
    return ACK if scenario.virtual.tcp else 0.0


def law(link: Link, server: Link, way: str, tcp: bool) -> Law:
    """What lies between a device and the server; without `tcp`, ideal: nothing is lost."""
    there, back = (link.up, link.down) if way == "up" else (link.down, link.up)
    beyond, returning = (server.down, server.up) if way == "up" else (server.up, server.down)
    habits = Tcp.of(there, back, beyond, returning) if tcp else None
    rate = math.inf if there.rate is None else float(there.rate)
    return Law(
        rate=habits.limit(rate) if habits else rate,
        delay=there.delay + beyond.delay,
        jitter=math.hypot(there.jitter, beyond.jitter),
        setup=there.setup + beyond.setup,
        tcp=habits,
    )


def _access(heap: Heap, side: Side) -> Access | None:
    return None if side.rate is None else Access(heap, float(side.rate))


def _lines(
    heap: Heap, law: Law, seed: int, group: Group, way: str, access: Access | None
) -> LinkGroup:
    return LinkGroup(heap, law, len(group.names), _dice(seed, group.names, way), access)


def _dice(seed: int, names: tuple[str, ...], way: str) -> Callable[[int], Random]:
    """Each device's own for this direction, made when first thrown."""
    thrown: dict[int, Random] = {}

    def dice(who: int) -> Random:
        found = thrown.get(who)
        if found is None:
            found = thrown[who] = Random(chance.jitter(seed, names[who], way))
        return found

    return dice
