"""A cable between two namespaces that holds each packet for a while; it imports nothing of ours.

It stands in for netem where the kernel has none: two TAP devices called eth0, each in its
namespace, and this process between them. Superpackets stay whole, as on a veth.
"""

import contextlib
import ctypes
import fcntl
import os
import select
import struct
import sys
import time
from collections import deque

TUNSETIFF, TUNSETOFFLOAD = 0x400454CA, 0x400454D0
TAP, NO_INFORMATION, OFFLOAD_HEADER = 0x0002, 0x1000, 0x4000
CHECKSUM, TSO4, TSO6 = 1, 2, 4
LONGEST = 10 + 14 + 65535
"""Bytes of a superpacket with its offload header."""
NETWORK = 0x40000000
"""CLONE_NEWNET of setns(2)."""


def main(near: str, far: str, delay: str) -> None:
    """Carry packets between the two namespaces, `delay` seconds each way, until it is killed."""
    ends = [_tap(name) for name in (near, far)]
    print("ready", flush=True)
    held = {end: deque[tuple[float, bytes]]() for end in ends}  # by the end that it leaves at
    beyond = {ends[0]: ends[1], ends[1]: ends[0]}
    while True:
        due = [waiting[0][0] for waiting in held.values() if waiting]
        left = max(0.0, min(due) - time.monotonic()) if due else None
        readable, _, _ = select.select(ends, [], [], left)
        now = time.monotonic()
        for end in readable:
            _read(end, held[beyond[end]], now + float(delay))
        for end, waiting in held.items():
            while waiting and waiting[0][0] <= now:
                _, packet = waiting.popleft()
                with contextlib.suppress(OSError):  # an end that is not up yet takes none
                    os.write(end, packet)


def _read(end: int, held: deque[tuple[float, bytes]], due: float) -> None:
    """Read and hold all available packets until `due`."""
    with contextlib.suppress(BlockingIOError):
        while True:
            held.append((due, os.read(end, LONGEST)))


def _tap(namespace: str) -> int:
    """Return the descriptor of a new eth0 in the namespace."""
    with open(f"/run/netns/{namespace}") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), NETWORK):
            raise OSError(ctypes.get_errno(), f"setns {namespace}")
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    flags = TAP | NO_INFORMATION | OFFLOAD_HEADER
    fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH22x", b"eth0", flags))
    fcntl.ioctl(end, TUNSETOFFLOAD, CHECKSUM | TSO4 | TSO6)
    return end


if __name__ == "__main__":
    main(*sys.argv[1:])
