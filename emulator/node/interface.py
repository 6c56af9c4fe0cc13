"""The counters of a container's network interface."""

from contextlib import suppress
from functools import cache
from pathlib import Path

from ..errors import DeploymentError
from ..shaping.box.rewiring import WIRE
from ..shaping.joined_networks import PORT

INTERFACE = Path("/sys/class/net/eth0/statistics")
SAMPLING = 1.0
"""Seconds between two samples of the counters."""
GONE = (
    "the network interface eth0 is gone: the node has no link any more, and another interface "
    "would be unshaped"
)


class InterfaceGoneError(DeploymentError):
    """The container has lost the network interface."""


def interface_bytes() -> tuple[int, int]:
    """Return the bytes that the interface has received, and those sent behind the shaper.

    Raises InterfaceGoneError.
    """
    try:
        rx, tx = _counter("rx_bytes"), _counter("tx_bytes")
    except OSError as error:
        raise InterfaceGoneError(GONE) from error
    with suppress(OSError):  # not behind the box: the shaper is the interface's own
        tx = device_bytes(WIRE)
    return rx, tx


def interface_packets() -> tuple[int, int]:
    """Return the packets that the interface has received and sent. Raises InterfaceGoneError."""
    try:
        return _counter("rx_packets"), _counter("tx_packets")
    except OSError as error:
        raise InterfaceGoneError(GONE) from error


def device_bytes(device: str) -> int:
    """Return the bytes that the network device `device` has sent. Raises OSError."""
    return _number(f"/sys/class/net/{device}/statistics/tx_bytes")


def _counter(name: str) -> int:
    return sum(_number(f"{folder}/{name}") for folder in _folders(INTERFACE))


@cache
def _folders(interface: Path) -> tuple[str, ...]:
    """Return the folders of the counters of this container's packets, once the link is shaped.

    A bridge of joined networks counts received frames without their headers; its ports count them
    whole. Behind the box all frames pass the TAP device that is `interface`.
    """
    devices = interface.parents[1]
    ports = sorted(devices.glob(f"{PORT}[0-9]*"))
    if not ports or (devices / WIRE).exists():
        return (str(interface),)
    return tuple(f"{port}/{interface.name}" for port in ports)


def _number(path: str) -> int:
    # a `Path` for each sample would make pathlib intern its parts: the interpreter's table of
    # interned strings grows in steps of 0.4 MB with insertions, though the strings are freed
    with open(path, encoding="utf-8") as file:
        return int(file.read())
