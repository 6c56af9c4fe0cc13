"""A link as the tc commands that make it so. Pure: they are run elsewhere.

    device ── [htb, if the uplink loses] ── tbf: rate ── netem: delay, jitter, loss
                 └─ blackhole: what nft picked to be lost
    ifb    ── tbf: rate ── netem        what came in, sent through here before it is delivered

A level that a side does not need is left out. Things that are easy to get wrong:

* The rate comes above netem, not below: before Linux 6.13 a netem whose child cuts packets in
  two loses count of them, and stops for good.
* netem draws a delay for each packet and sends them in the order of their due times: jitter
  would reorder TCP, which takes that for loss. With a rate of its own, here one that nobody
  feels, a packet is due after the one before it, as in `Hold`.
* Packets longer than a tbf's burst are cut, which on a fast link lets whole superpackets
  through. To lose frames one by one they must be cut there too: so a lossy side has a peak
  rate, which nobody feels, with room for one frame.
* A tbf that cuts a superpacket cuts it into single frames, each with a timer, an interrupt and a
  wake-up of its own. On a host full of devices that is most of what a network costs. So senders
  make none that is longer than a bucket, but for those of slow links, which have few frames.
* Only IPv4 is redirected, and only IPv4 enters the classes of a lossy uplink: an ARP request
  that got lost would silence a node for a second, and its WAN has no ARP to lose.
"""

import math
from collections.abc import Iterable

from ..units import Rate, Seconds
from ..world.link import Link, Side
from .backend import Backend
from .command import Command

HANDLE = 0x504E
"""The root's handle: ours, so that whoever meets it knows whose it is."""
WHOLE = f"{HANDLE:x}:1"
LOST = f"{HANDLE:x}:2"
"""The class that swallows; nft sends packets there by giving them this priority."""

ETHERNET = 1514
"""Bytes of a full frame, as tc counts them."""
SUPERPACKET = 65536
SLACK = 2e-3
"""Seconds that a busy host's timer may be late without the link losing time."""
QUEUE = 0.25
"""Seconds of traffic that wait at a bottleneck before it drops: a home router's."""
SHORTEST_QUEUE = 16
"""Frames; TCP opens with ten at once, which on a dial-up line are more than `QUEUE`."""
UNRATED_QUEUE = 10_000
"""Packets; more than TCP's windows let under way."""
UNFELT = "100gbit"
FASTEST = 100e9
"""Bits a second that a rate must stay below: it needs a peak rate above it, `UNFELT`."""
SLOWEST = 100.0
"""Bits a second that a rate needs: the kernel holds the time of a burst in 32 bits of 64 ns, and a
frame would take longer than these 275 s below 45 bit/s."""
ANY_SEGMENTS = 65535
FEW_SEGMENTS = 4
"""A bucket of fewer frames would make everyone's superpackets short for the sake of a slow link."""


def shape(
    link: Link, backend: Backend, device: str = "eth0", beyond: Iterable[Side] = ()
) -> list[Command]:
    """What makes `device` the near end of `link`, on a device that has no shape yet.

    `beyond` are the sides that what is sent here passes at the far ends. Loss is netem's alone
    here; nft must pick where the backend says so.
    """
    commands = []
    most = segments(link.up, beyond, backend)
    if most < ANY_SEGMENTS:
        commands.append(f"ip link set dev {device} gso_max_segs {most}")
    commands += _tree(link.up, backend, device, lossy=link.up.loss > 0)
    incoming = _tree(link.down, backend, _ifb(device), lossy=False)
    if incoming:
        commands += redirect(device) + incoming
    return [Command.of(line) for line in commands]


def clear(device: str = "eth0") -> list[Command]:
    """Undo whatever `shape` did to `device`; a root or an ifb of other people's stays."""
    lines = [
        f"tc qdisc del dev {device} root handle {HANDLE:x}:",
        f"tc qdisc del dev {device} ingress",
        f"ip link del dev {_ifb(device)} type ifb",
        f"ip link set dev {device} gso_max_segs {ANY_SEGMENTS}",
    ]
    return [Command.of(line, lenient=True) for line in lines]


def redirect(device: str) -> list[str]:
    """All IPv4 that comes in at `device` goes through a new ifb first."""
    ifb = _ifb(device)
    return [
        f"ip link add dev {ifb} type ifb",
        f"ip link set dev {ifb} up",
        f"tc qdisc add dev {device} ingress",
        f"tc filter add dev {device} parent ffff: protocol ip u32 match u32 0 0 "
        f"action mirred egress redirect dev {ifb}",
    ]


def classes(device: str, rate: str) -> list[str]:
    """An htb root: IPv4 to the class WHOLE, what bears the priority LOST to nowhere."""
    root = f"{HANDLE:x}:"
    return [
        f"tc qdisc add dev {device} root handle {root} htb default 0",
        f"tc class add dev {device} parent {root} classid {WHOLE} htb {rate}",
        f"tc class add dev {device} parent {root} classid {LOST} htb {_pass()}",
        f"tc qdisc add dev {device} parent {LOST} blackhole",
        f"tc filter add dev {device} parent {root} protocol ip u32 match u32 0 0 flowid {WHOLE}",
    ]


def _tree(side: Side, backend: Backend, device: str, lossy: bool) -> list[str]:
    """The qdiscs of one direction, each below the one before."""
    handle = HANDLE
    commands: list[str] = []

    def below() -> str:
        return f"parent {handle:x}:1" if commands else "root"

    by_htb = side.rate is not None and backend.rate == "htb"
    if lossy or by_htb:
        commands += classes(device, _htb(side.rate) if side.rate and by_htb else _pass())
    for kind in _chain(side, backend):
        parent = below()
        handle += bool(commands)
        commands.append(f"tc qdisc add dev {device} {parent} handle {handle:x}: {kind}")
    return commands


def _chain(side: Side, backend: Backend) -> list[str]:
    chain = []
    if side.rate and backend.rate == "tbf":
        words = f"tbf rate {_bits(side.rate)} burst {burst(side.rate)} limit {queue(side.rate)}"
        chain.append(f"{words} peakrate {UNFELT} mtu {ETHERNET}" if side.loss else words)
    late = backend.delay == "netem" and side.delay > 0
    losing = backend.loss == "netem" and side.loss > 0
    if late or losing:
        chain.append(_netem(side, late, losing))
    elif side.rate and backend.rate == "htb":
        chain.append(f"bfifo limit {queue(side.rate) + 2 * SUPERPACKET}")
    return chain


def _netem(side: Side, late: bool, losing: bool) -> str:
    words = ["netem", "limit", str(_places(side))]
    if late:
        words += ["delay", _us(side.delay)]
    if late and side.jitter:
        words += [_us(side.jitter), "distribution", "normal"]
    if losing:
        words += ["loss", f"{side.loss * 100:.6f}%"]
    return " ".join([*words, "rate", UNFELT])


def _htb(rate: Rate) -> str:
    # without a quantum tc works one out from the rate and warns that it is too big or too small
    size = burst(rate)
    return f"rate {_bits(rate)} burst {size} cburst {size} quantum {ETHERNET}"


def _pass() -> str:
    return f"rate 32gbit burst 1048576 cburst 1048576 quantum {SUPERPACKET}"


def segments(up: Side, beyond: Iterable[Side], backend: Backend) -> int:
    """Frames that TCP may hand down as one packet, where it passes these sides."""
    if up.loss > 0 or (up.rate is not None and backend.rate == "htb"):
        return 1  # to lose them one by one, or because htb cannot cut
    buckets = [burst(s.rate) // ETHERNET for s in (up, *beyond) if s.rate and not s.loss]
    fit = [n for n in buckets if FEW_SEGMENTS <= n < SUPERPACKET // ETHERNET]
    return min(fit, default=ANY_SEGMENTS) if backend.rate == "tbf" else ANY_SEGMENTS


def burst(rate: Rate) -> int:
    """Bytes that an idle link lets through at once: one frame, and what the slack makes up."""
    return ETHERNET + math.ceil(rate / 8 * SLACK)


def queue(rate: Rate) -> int:
    """Bytes that wait at the bottleneck before it drops."""
    return max(SHORTEST_QUEUE * ETHERNET, math.ceil(rate / 8 * QUEUE))


def _places(side: Side) -> int:
    """Packets in netem: those that wait, and those under way.

    Its own default, 1000, drops packets that are merely under way on a long fast link, and on a
    slow one makes them wait for seconds.
    """
    if side.rate is None:
        return UNRATED_QUEUE
    way = side.rate / 8 * (side.delay + 4 * side.jitter)
    return math.ceil((way + queue(side.rate)) / ETHERNET)


def _ifb(device: str) -> str:
    return f"ifb-{device}"


def _bits(rate: Rate) -> str:
    return f"{round(rate)}bit"


def _us(seconds: Seconds) -> str:
    return f"{round(seconds * 1e6)}us"
