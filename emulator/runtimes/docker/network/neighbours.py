"""The server as a permanent neighbour of its devices: commands of both ends.

The kernel has one table of neighbours for all network namespaces, by default with 1,024 entries,
and counts no permanent entry. So a run takes one entry for a device, which the server resolves, and
not a second one for the server. A device sends no ARP over its link either, which may lose it.
"""

from ipaddress import AddressValueError, IPv4Address

from ....shaping.command import Command


def ethernet(shard: int = 0) -> str:
    """Return the Ethernet address of the server, or of a `shard`: locally administered, and the
    same in all runs, since their networks are apart."""
    return f"02:65:6d:75:{0x6C + (shard + 1 >> 8):02x}:{shard + 1 & 0xFF:02x}"


def take_address(shard: int = 0) -> list[Command]:
    """Return the command by which the server, or a `shard`, takes its Ethernet address."""
    return [Command.of(f"ip link set dev eth0 address {ethernet(shard)}")]


def know_server(address: str, shard: int = 0) -> list[Command]:
    """Return the command by which a node knows the server, or a `shard`, at `address` for good;
    none if `address` is a name, which is resolved later."""
    try:
        IPv4Address(address)
    except AddressValueError:
        return []
    return [
        Command.of(f"ip neigh replace {address} lladdr {ethernet(shard)} dev eth0 nud permanent")
    ]
