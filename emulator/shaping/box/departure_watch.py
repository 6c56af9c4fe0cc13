"""Watch over the wire of a container: its deletion is the only sign of a container's end.

The descriptors of TAP devices keep the network of a dead container alive. So the container hands
the box a netlink socket of this network, at which the kernel reports changes of devices: the engine
deletes the wire when it removes the container's network.
"""

import socket
import struct

_LINK_GROUP = 1
_DELETED = 17
"""RTM_DELLINK."""
_NAME = 3
"""IFLA_IFNAME."""
_MESSAGE = struct.Struct("=IHHII")
_DEVICE = struct.Struct("=BxHiII")
_ATTRIBUTE = struct.Struct("=HH")
_LONGEST = 65536
_MOST_MESSAGES = 16
"""Most packets read at a time."""


def watch() -> int:
    """Return the descriptor of a socket that reports changes of devices in this network."""
    watching = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    watching.bind((0, _LINK_GROUP))
    return watching.detach()


def is_watch(descriptor: int) -> bool:
    """Return whether `descriptor` is a netlink socket."""
    try:
        watching = socket.socket(fileno=descriptor)
    except OSError:
        return False
    watching.detach()
    return watching.family == socket.AF_NETLINK


def has_departed(descriptor: int, device: str) -> bool:
    """Read the reports that wait at `descriptor`; return whether `device` was deleted."""
    watching = socket.socket(fileno=descriptor)  # no copy: a box may have no descriptor left
    try:
        for _ in range(_MOST_MESSAGES):
            try:
                packet = watching.recv(_LONGEST, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return False
            except OSError:  # reports were lost, as the box was late
                continue
            if device in deleted(packet):
                return True
        return False
    finally:
        watching.detach()


def is_here(device: str) -> bool:
    """Return whether this network has a device of that name."""
    return device in (name for _, name in socket.if_nameindex())


def deleted(packet: bytes) -> list[str]:
    """Return the names of the deleted devices in the netlink `packet`."""
    names = []
    while len(packet) >= _MESSAGE.size:
        size, kind, *_ = _MESSAGE.unpack_from(packet)
        if size < _MESSAGE.size:
            break
        body, packet = packet[_MESSAGE.size : size], packet[_aligned(size) :]
        # a port that leaves its bridge is reported, too, as a device of the family of bridges
        if kind == _DELETED and len(body) >= _DEVICE.size and body[0] == socket.AF_UNSPEC:
            names += _names(body[_DEVICE.size :])
    return names


def _names(attributes: bytes) -> list[str]:
    """Return the names among the attributes of a device."""
    names = []
    while len(attributes) >= _ATTRIBUTE.size:
        size, kind = _ATTRIBUTE.unpack_from(attributes)
        if size < _ATTRIBUTE.size:
            break
        if kind == _NAME:
            value = attributes[_ATTRIBUTE.size : size].rstrip(b"\0")
            names.append(value.decode(errors="replace"))
        attributes = attributes[_aligned(size) :]
    return names


def _aligned(size: int) -> int:
    return (size + 3) & ~3
