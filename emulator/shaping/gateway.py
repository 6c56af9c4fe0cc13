"""The gateway of a bottleneck, as commands: queues in each direction for all forwarded packets.

    eth0 in ── from the server ── ifb-down ── a queue for each member ── htb: rate ── to the member
            └─ from the members ─ ifb-up ──── a queue for each member ── htb: rate ── to the server

The members and the server reach each other through the gateway by routes of their own. The gateway
has one interface, so packets are told apart by their sender, and queue before they are forwarded.
The bottleneck's delays are left to the members' links: a packet has both, wherever it waits.
Without htb the members share one queue, first in, first out: tbf. With it each has one:

    htb: rate ─┬─ member: rate / members, up to rate ── tbf: no rate; cuts superpackets
               └─ member: rate / members, up to rate ── tbf

Members that wait take turns, by bytes, and a member that does not leaves its share to the others:
the shares are max-min fair, whatever the congestion control of the senders. Pitfalls:

* A turn of htb passes a whole packet, also one longer than the quantum, and the next turn does not
  remember. So the quantum is the longest packet, to which a tbf below cuts superpackets.
* Each queue is as long as that of a line on its own, so a member alone finds such a line.
"""

from collections.abc import Sequence
from typing import Literal

from ..world.links.bottleneck import SharedLink, SharedSide
from ..world.links.link import ETHERNET, Link, Side
from . import access, tc
from .backend import Backend
from .command import Command
from .playable_link import dilated_side, playable

UP, DOWN = "ifb-up", "ifb-down"
"""Devices with the queues of both directions."""

DEVICE = "eth0"


def forward(
    shared: SharedLink,
    server: str,
    members: Sequence[str],
    backend: Backend,
    dilation: float = 1.0,
) -> list[Command]:
    """Return commands to let packets between `server` and `members`, both addresses, share rates.

    The rates of `shared` are in emulated seconds, of which each takes `dilation` real ones.
    """
    lines = [f"tc qdisc add dev {DEVICE} ingress"]
    shapes: list[Command] = []
    ways: tuple[tuple[str, SharedSide, str, Literal["src", "dst"]], ...] = (
        (DOWN, shared.down, f"ip src {server}/32", "dst"),
        (UP, shared.up, "u32 0 0", "src"),
    )
    for preference, (ifb, side, sender, member) in enumerate(ways, 1):
        lines += [
            f"ip link add dev {ifb} type ifb",
            f"ip link set dev {ifb} up",
            f"tc filter add dev {DEVICE} parent ffff: protocol ip pref {preference} u32 "
            f"match {sender} action mirred egress redirect dev {ifb}",
        ]
        if side.rate is not None:
            real = dilated_side(Side(side.rate), dilation)
            shapes += _queues(real, ifb, member, members, backend)
    return [*map(Command.of, lines), *shapes]


def _queues(
    side: Side, ifb: str, member: Literal["src", "dst"], members: Sequence[str], backend: Backend
) -> list[Command]:
    """Return commands for the queues of a direction; packets have the `member` as that end."""
    if backend.shared == "htb":
        cut = backend.rate == "tbf"
        return [*map(Command.of, _member_queues(side, ifb, member, members, cut=cut))]
    return access.shape(Link(up=side), Backend(rate="tbf"), ifb)


def route(to: str, gateway: str) -> Command:
    """Return a command to reach the address `to` through the address `gateway`."""
    return Command.of(f"ip route replace {to}/32 via {gateway} dev {DEVICE}")


def _member_queues(
    side: Side, device: str, end: Literal["src", "dst"], members: Sequence[str], *, cut: bool
) -> list[str]:
    """Return commands to queue the packets of each of `members` apart, at the rate of `side`.

    `members` are addresses, which packets have at their `end`. `cut`: whether a tbf may cut
    superpackets; senders must not make any otherwise.
    """
    assert side.rate is not None
    root, line = f"{tc.HANDLE:x}:", f"{tc.HANDLE:x}:1"
    longest = tc.usual_burst(side) if cut else ETHERNET
    share = playable(side.rate / len(members))
    ceiling = f"ceil {tc.bits(side.rate)} cburst {tc.usual_burst(side)} quantum {longest}"
    leaf = f"tbf rate {tc.UNFELT} burst {longest} limit" if cut else "bfifo limit"
    lines = [
        f"tc qdisc add dev {device} root handle {root} htb default 0",
        f"tc class add dev {device} parent {root} classid {line} htb "
        f"rate {tc.bits(side.rate)} burst {tc.usual_burst(side)} {ceiling}",
    ]
    for number, address in enumerate(members, 2):
        own = f"{tc.HANDLE:x}:{number:x}"
        lines += [
            f"tc class add dev {device} parent {line} classid {own} htb "
            f"rate {tc.bits(share)} burst {ETHERNET} {ceiling}",
            f"tc qdisc add dev {device} parent {own} {leaf} {tc.usual_queue(side)}",
            f"tc filter add dev {device} parent {root} protocol ip u32 "
            f"match ip {end} {address}/32 flowid {own}",
        ]
    return lines
