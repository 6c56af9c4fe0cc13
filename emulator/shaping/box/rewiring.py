"""Commands that put TAP devices between the stack of a container and its wire, and undo it.

    device ── box ── wan ── wire

`device` is a TAP that has the name and the addresses of the container's former device, which is
renamed to `wire`. What comes in at `wire` goes out at `wan` and the other way round: by redirection
where the kernel has it, else by a bridge. The functions only write the commands,
but for `read_addressing`, which asks `ip` for the addresses and routes of the device.
"""

import json
from dataclasses import dataclass
from typing import Any

from ...world.links.link import Link, Side
from .. import tc
from ..backend import Backend
from ..command import Command, output
from .token_bucket import box_shapes

_OF_KERNEL = ("proto kernel", "multicast ff00::/8", "linkdown")


@dataclass(frozen=True)
class Addressing:
    """Ethernet address, MTU, addresses and routes of a device."""

    mac: str
    mtu: int
    addresses: tuple[str, ...]
    """Words of `ip address add` without the device."""
    routes: tuple[str, ...]
    """Words of `ip route add` without the device, in an order in which they can be added."""
    routes6: tuple[str, ...]
    version6: bool
    """Whether the device speaks IPv6. The engine switches it off on a network without IPv6."""


def read_addressing(device: str) -> Addressing:
    """Return the addressing of `device` in this network. Raises DeploymentError."""
    shown = output(Command.of(f"ip -json address show dev {device}"))
    routes = [output(Command.of(f"ip {family} route show dev {device}")) for family in ("-4", "-6")]
    return parse_addressing(shown, *routes)


def parse_addressing(shown: str, routes: str, routes6: str) -> Addressing:
    """Return the addressing that the outputs of `ip` describe: JSON of the device, and routes."""
    (device,) = (entry for entry in json.loads(shown) if entry)
    given = [_address(entry) for entry in device["addr_info"] if entry["scope"] != "link"]
    return Addressing(
        mac=device["address"],
        mtu=device["mtu"],
        addresses=tuple(given),
        routes=_routes(routes),
        routes6=_routes(routes6),
        version6=any(entry["family"] == "inet6" for entry in device["addr_info"]),
    )


def _address(entry: dict[str, Any]) -> str:
    words = f"{entry['local']}/{entry['prefixlen']}"
    if "broadcast" in entry:
        words += f" broadcast {entry['broadcast']}"
    words += f" scope {entry['scope']}"
    # the address is in use already, so nobody needs to be asked whether it is free
    return words + (" nodad" if entry["family"] == "inet6" else "")


def _routes(text: str) -> tuple[str, ...]:
    """Return the routes that the kernel does not add with an address; gateways come last."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    own = [line for line in lines if line and not any(word in line for word in _OF_KERNEL)]
    return tuple(sorted(own, key=lambda line: " via " in line))


def give(addressing: Addressing, device: str) -> list[str]:
    """Return commands that give the addressing to `device`, a device without addresses and down."""
    return [
        f"ip link set dev {device} address {addressing.mac} mtu {addressing.mtu}",
        *(f"ip address add {words} dev {device}" for words in addressing.addresses),
        f"ip link set dev {device} up",
        *(f"ip route add {words} dev {device}" for words in addressing.routes),
        *(f"ip -6 route add {words} dev {device}" for words in addressing.routes6),
    ]


WAN = "wan"
"""TAP device at the wire's side of the box."""
WIRE = "wire"
"""Name of the device that was the container's."""
BRIDGE = "wan-wire"
QUEUE = 5000
"""Frames that a TAP queues for the box; the kernel's default of 500 drops bursts."""


def part(device: str) -> list[Command]:
    """Return commands that take the addresses from `device`, and rename it to `WIRE`."""
    lines = [
        f"ip link set dev {device} down",
        f"ip address flush dev {device}",
        f"ip link set dev {device} name {WIRE}",
    ]
    return _commands(lines) + silence(WIRE) + silence(WAN)


def silence(device: str) -> list[Command]:
    """Return the command after which `device` gives itself no address of IPv6."""
    # a kernel without IPv6 knows no such mode
    return [Command.of(f"ip link set dev {device} addrgenmode none", lenient=True)]


def redirect() -> list[Command]:
    """Return commands that join `WAN` and `WIRE` by redirection of all packets."""
    # a redirected packet of this host's would stay on its sender's account while it waits for the
    # rate, so that TCP stops filling the queue; a mirrored one is on nobody's
    return _commands([*_pass_on(WIRE, WAN, "mirror", "drop"), *_pass_on(WAN, WIRE, "redirect")])


def _pass_on(source: str, target: str, *how: str) -> list[str]:
    """Return commands that send all packets which come in at `source` out at `target`."""
    way, *rest = how
    action = " ".join([f"action mirred egress {way} dev {target}", *rest])
    return [
        f"tc qdisc add dev {source} ingress",
        f"tc filter add dev {source} parent ffff: protocol all u32 match u32 0 0 {action}",
    ]


def bridge(addressing: Addressing) -> list[Command]:
    """Return commands that join `WAN` and `WIRE` by a bridge, for kernels without redirection.

    A bridge takes the Ethernet addresses of its ports for its own, so `WIRE` gets another address.
    """
    other = "02:50:4e:" + addressing.mac[9:]
    undo = [Command.of(f"tc qdisc del dev {end} ingress", lenient=True) for end in (WIRE, WAN)]
    return undo + _commands(
        [
            f"ip link add name {BRIDGE} type bridge forward_delay 0 stp_state 0 mcast_snooping 0",
            # the bridge is no device of the container's, and must not answer for its addresses
            f"ip link set dev {BRIDGE} arp off",
            f"ip link set dev {WIRE} address {other}",
            f"ip link set dev {WIRE} master {BRIDGE}",
            f"ip link set dev {WAN} master {BRIDGE}",
            f"ip link set dev {BRIDGE} up",
        ]
    )


def join(addressing: Addressing, device: str, segments: int) -> list[Command]:
    """Return commands that bring the three devices up; `device` gets the container's addresses.

    `segments`: most frames of a superpacket from the stack.
    """
    few = [f"ip link set dev {device} gso_max_segs {segments}"] * (segments < tc.ANY_SEGMENTS)
    silent = [] if addressing.version6 else silence(device)
    return silent + _commands(
        [
            f"ip link set dev {WAN} mtu {addressing.mtu} txqueuelen {QUEUE} up",
            f"ip link set dev {WIRE} up",
            f"ip link set dev {device} txqueuelen {QUEUE}",
            *few,
            *give(addressing, device),
        ]
    )


def restore(addressing: Addressing, device: str) -> list[Command]:
    """Return commands that undo the rewiring, complete or not, after the TAP devices have gone."""
    removed = [
        f"ip link set dev {WIRE} down",
        f"ip link del dev {BRIDGE} type bridge",
        f"tc qdisc del dev {WIRE} ingress",
        f"tc qdisc del dev {WIRE} root handle {tc.HANDLE:x}:",
        f"ip link set dev {WIRE} addrgenmode eui64",
        f"ip link set dev {WIRE} name {device}",
        f"ip link set dev {device} down",
        *give(addressing, device),
    ]
    return [Command.of(line, lenient=True) for line in removed]


def cut_off() -> list[Command]:
    """Return the command that deletes the wire, and its end in the engine's bridge with it."""
    return [Command.of(f"ip link del dev {WIRE}", lenient=True)]


def shape(link: Link, backend: Backend, *, changing: bool) -> list[Command]:
    """Return commands for the rates of `link` that tbf shapes: of `WIRE` up, of `WAN` down.

    `changing`: whether `reshape` may follow.
    """
    return _commands(
        [
            f"tc qdisc add dev {end} root handle {tc.HANDLE:x}: {words}"
            for end, side in ((WIRE, link.up), (WAN, link.down))
            if (words := _tbf(side, backend, changing))
        ]
    )


def reshape(old: Link, new: Link, backend: Backend) -> list[Command]:
    """Return commands that turn the rates of `old` into those of `new`, shaped as changing.

    Queued packets stay, unless a side loses its rate.
    """
    lines = []
    for end, before, after in ((WIRE, old.up, new.up), (WAN, old.down, new.down)):
        was, words = _tbf(before, backend, True), _tbf(after, backend, True)
        place = f"dev {end} root handle {tc.HANDLE:x}:"
        if was and not words:
            lines.append(f"tc qdisc del {place}")
        elif words != was:
            lines.append(f"tc qdisc {'change' if was else 'add'} {place} {words}")
    return _commands(lines)


def _tbf(side: Side, backend: Backend, changing: bool) -> str:
    """Return the words of the tbf of a side; empty if the side needs none."""
    if side.rate is None or box_shapes(side, backend):
        return ""
    return tc.bucket(side, changing=changing)


def _commands(lines: list[str]) -> list[Command]:
    return [Command.of(line) for line in lines]
