"""How many frames a superpacket of a TAP device stands for, and their bytes on the wire."""

import struct
import sys

from emulator.shaping.box.tap import frames, wire_bytes

IPV4 = b"\x08\x00"


def _superpacket(payload: int, size: int) -> bytes:
    """Return a superpacket of TCP over IPv4 with 12 bytes of TCP options."""
    # flags, kind, length of headers, payload a frame, begin of TCP, offset of the checksum
    header = struct.pack("=BBHHHH", 1, 1, 66, size, 34, 16)
    tcp = bytes(12) + b"\x80" + bytes(19)
    return header + bytes(12) + IPV4 + bytes(20) + tcp + bytes(payload)


def test_frames_of_a_superpacket_are_counted_with_their_headers() -> None:
    assert sys.byteorder in ("little", "big")
    whole = _superpacket(10 * 1448 + 1, 1448)
    assert frames(whole) == 11
    assert wire_bytes(whole) == 10 * 1514 + 67
    single = bytes(10 + 12) + IPV4 + bytes(1500)
    assert (frames(single), wire_bytes(single)) == (1, 1514)
    assert frames(whole[:20]) == 1  # of a hostile stack
