"""Joins the interfaces of a container on several networks into one: `eth0` becomes a bridge.

    eth0, a bridge with all addresses ── net0 (the former eth0) ── the first network's bridge
                                      └─ net1 (the former eth1) ── the second one's

A Linux bridge has 1,023 ports, so a larger run has several networks, and its server is on each. The
server's link is one link: its shape, its meter and its counters stay at `eth0`. A device reaches
the server by the address that the server has on the device's own network.
"""

from collections.abc import Sequence

from .box.rewiring import Addressing, give, read_addressing, silence
from .command import Command, apply

DEVICE = "eth0"
PORT = "net"
"""Begin of the names of a joined container's ports."""


def join(networks: int) -> None:
    """Join the interfaces of this container's `networks`. Raises DeploymentError."""
    apply(commands([read_addressing(f"eth{number}") for number in range(networks)]))


def commands(found: Sequence[Addressing]) -> list[Command]:
    """Return commands that join as many interfaces as were `found`, each with its addressing."""
    first, *others = found
    lines: list[str] = []
    for number in range(len(found)):
        lines += [
            f"ip link set dev eth{number} down",
            f"ip address flush dev eth{number}",
            f"ip link set dev eth{number} name {PORT}{number}",
        ]
    lines.append(
        f"ip link add name {DEVICE} type bridge forward_delay 0 stp_state 0 mcast_snooping 0"
    )
    made = len(lines)
    for number in range(len(found)):
        port = f"{PORT}{number}"
        lines += [
            f"ip link set dev {port} master {DEVICE}",
            # packets of one network have no business on another one
            f"ip link set dev {port} type bridge_slave isolated on",
            f"ip link set dev {port} up",
        ]
    lines += give(first, DEVICE)
    lines += [f"ip address add {words} dev {DEVICE}" for each in others for words in each.addresses]
    silent = [] if first.version6 else silence(DEVICE)
    plain = [Command.of(line) for line in lines]
    return [*plain[:made], *silent, *plain[made:]]
