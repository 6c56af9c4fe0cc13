"""Probe of the kernel's shaping features, by use on a device made for the purpose.

Run as `python3 -m emulator.shaping.probe` in a container with the same rights as a device's, since
a list of modules does not tell whether this network may use them. Prints one line of JSON.
"""

import fcntl
import json
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import DeploymentError
from ..units import Fraction, Rate, Seconds
from ..world.links.link import Link, Side
from . import access, tc
from .backend import Backend
from .command import Command, apply
from .features import Features

_DEVICE = "probe504e"
_PEER = "probe504f"
_RATED = Link(up=Side(rate=Rate(8e6)))
_LATE = Link(up=Side(delay=Seconds(0.01), jitter=Seconds(0.001)))
_LOSSY = Link(down=Side(loss=Fraction(0.5)))
_TAP = "probe504t"
_TUN = "/dev/net/tun"
_TUNSETIFF = 0x400454CA  # linux/if_tun.h
_TAP_FLAGS = 0x0002 | 0x1000 | 0x4000  # IFF_TAP, IFF_NO_PI, IFF_VNET_HDR


def probe() -> Features:
    """Return the features that work here. Raises DeploymentError without any right to the
    network."""
    with _device():
        return Features(
            netem=_works(access.shape(_LATE, Backend(delay="netem"), _DEVICE)),
            tbf=_works(access.shape(_RATED, Backend(rate="tbf"), _DEVICE)),
            htb=_works(access.shape(_RATED, Backend(rate="htb"), _DEVICE)),
            ifb=_works([Command.of(line) for line in tc.redirect(_DEVICE)]),
            nftables=_works(access.shape(_LOSSY, Backend(loss="nftables"), _DEVICE)),
            egress=_works(access.sever(Link(), Backend(cut="nftables"), _DEVICE)),
            tun=_makes_taps(),
        )


def _makes_taps() -> bool:
    """Return whether a TAP device can be made here; it is gone when its file is closed."""
    request = struct.pack("16sH22x", _TAP.encode(), _TAP_FLAGS)
    try:
        with open(_TUN, "r+b", buffering=0) as tun:
            fcntl.ioctl(tun, _TUNSETIFF, request)
    except OSError:
        return False
    return True


def _works(commands: list[Command]) -> bool:
    """Return whether the kernel accepts `commands`; they are undone afterwards."""
    try:
        apply(commands)
    except DeploymentError:
        return False
    finally:
        apply(access.clear(_DEVICE))
    return True


@contextmanager
def _device() -> Iterator[None]:
    """Make a pair of virtual Ethernet devices for the block."""
    apply([Command.of(f"ip link add dev {_DEVICE} type veth peer name {_PEER}")])
    try:
        yield
    finally:
        apply([Command.of(f"ip link del dev {_DEVICE}")])


def main() -> int:
    """Print the features as JSON; return the exit status."""
    try:
        print(json.dumps(probe().plain()))
    except DeploymentError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
