"""Netlink's reports of deleted devices, as bytes."""

import os
import socket
import struct

from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.shaping.box.departure_watch import deleted, has_departed, is_watch, watch


def _report(name: bytes, kind: int = 17, family: int = 0) -> bytes:
    """Return a report with the attributes mtu and name."""
    attributes = struct.pack("=HHI", 8, 4, 1500) + struct.pack("=HH", 5 + len(name), 3) + name
    attributes += bytes(-len(attributes) % 4 or 4)
    body = struct.pack("=BxHiII", family, 1, 7, 0, 0) + attributes
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 0, 0) + body


def test_deletions_are_read() -> None:
    packet = _report(b"wire") + _report(b"wan") + _report(b"eth0", kind=16)
    assert deleted(packet) == ["wire", "wan"]


def test_a_port_that_leaves_its_bridge_is_not_deleted() -> None:
    assert deleted(_report(b"wire", family=socket.AF_BRIDGE)) == []


@settings(deadline=None)
@given(st.binary(max_size=100), st.integers(0, 70))
def test_no_bytes_do_harm(noise: bytes, place: int) -> None:
    deleted(noise)
    deleted(_report(b"wire")[:place] + noise)


def test_a_watch_is_a_netlink_socket_without_reports_at_first() -> None:
    descriptor = watch()
    try:
        assert is_watch(descriptor)
        assert not has_departed(descriptor, "wire")
    finally:
        os.close(descriptor)
    with socket.socket() as other:
        assert not is_watch(other.fileno())
    with open(os.devnull) as null:
        assert not is_watch(null.fileno())
