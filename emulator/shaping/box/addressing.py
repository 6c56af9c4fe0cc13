"""Addresses and routes of a network device, read from `ip`, and the commands that give them."""

import json
from dataclasses import dataclass
from typing import Any

from ..apply import output
from ..command import Command

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


def read(device: str) -> Addressing:
    """Return the addressing of `device` in this network. Raises DeploymentError."""
    shown = output(Command.of(f"ip -json address show dev {device}"))
    routes = [output(Command.of(f"ip {family} route show dev {device}")) for family in ("-4", "-6")]
    return parse(shown, *routes)


def parse(shown: str, routes: str, routes6: str) -> Addressing:
    """Return the addressing that the outputs of `ip` describe: JSON of the device, and routes."""
    (device,) = (entry for entry in json.loads(shown) if entry)
    given = [_address(entry) for entry in device["addr_info"] if entry["scope"] != "link"]
    return Addressing(
        mac=device["address"],
        mtu=device["mtu"],
        addresses=tuple(given),
        routes=_routes(routes),
        routes6=_routes(routes6),
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
