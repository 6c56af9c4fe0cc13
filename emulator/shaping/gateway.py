"""The gateway of a bottleneck, as commands: a queue in each direction for all packets it forwards.

    eth0 in ── from the server ── ifb-down ── tbf: rate ── on to the member
            └─ from the members ─ ifb-up ──── tbf: rate ── on to the server

The members and the server reach each other through the gateway by routes of their own. The gateway
has one interface, so packets are told apart by their sender, and queue before they are forwarded.
The bottleneck's delays are left to the members' links: a packet has both, wherever it waits.
"""

from typing import Literal

from ..world.bottleneck import SharedLink
from ..world.link import Link, Side
from . import access
from .backend import Backend
from .command import Command
from .dilated_link import dilated_side

UP, DOWN = "ifb-up", "ifb-down"
"""Devices with the queues of both directions."""

DEVICE = "eth0"


def forward(
    shared: SharedLink, server: str, backend: Backend, dilation: float = 1.0
) -> list[Command]:
    """Return commands to let the packets from and to the address `server` share two queues.

    The rates of `shared` are in emulated seconds, of which each takes `dilation` real ones.
    """
    lines = [f"tc qdisc add dev {DEVICE} ingress"]
    shapes: list[Command] = []
    senders = ((DOWN, shared.down, f"ip src {server}/32"), (UP, shared.up, "u32 0 0"))
    for preference, (ifb, side, sender) in enumerate(senders, 1):
        lines += [
            f"ip link add dev {ifb} type ifb",
            f"ip link set dev {ifb} up",
            f"tc filter add dev {DEVICE} parent ffff: protocol ip pref {preference} u32 "
            f"match {sender} action mirred egress redirect dev {ifb}",
        ]
        link = Link(up=dilated_side(Side(side.rate), dilation))
        shapes += access.shape(link, Backend(rate=queue_of(backend)), ifb)
    return [*map(Command.of, lines), *shapes]


def queue_of(backend: Backend) -> Literal["tbf", "htb"]:
    """Return the mechanism of the queues."""
    return "htb" if backend.rate == "htb" else "tbf"


def route(to: str, gateway: str) -> Command:
    """Return a command to reach the address `to` through the address `gateway`."""
    return Command.of(f"ip route replace {to}/32 via {gateway} dev {DEVICE}")
