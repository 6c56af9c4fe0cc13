"""TAP devices: how to make one, and the offload header in front of each frame.

The header is that of virtio: 10 bytes in the byte order of the host. A frame that the kernel has
not finished, without a checksum or longer than the MTU, carries the missing facts in its header.
The box writes the header back as it was, so the kernel finishes the frame on the way out.
"""

import errno
import fcntl
import os
import struct
from typing import Literal, TypeAlias

from ...errors import DeploymentError

PATH = "/dev/net/tun"
"""Device by which TAP devices are made; making one needs the capability NET_ADMIN."""
HEADER = 10
"""Bytes of the offload header."""
LONGEST_FRAME = HEADER + 14 + 65535
"""Bytes of a superpacket with its headers, at most."""
Form: TypeAlias = Literal["superpackets", "single", "finished"]
"""Superpackets as they are, frames that may lack their checksums, or frames with checksums."""
GONE = (errno.EBADFD, errno.EBADF, errno.ENODEV)
"""Errors at the descriptor of a TAP without a network."""

_TUNSETIFF, _TUNGETIFF, _TUNSETOFFLOAD = 0x400454CA, 0x800454D2, 0x400454D0
_TAP, _NO_INFORMATION, _OFFLOAD_HEADER = 0x0002, 0x1000, 0x4000
_KIND = _TAP | _NO_INFORMATION | _OFFLOAD_HEADER
_CHECKSUM, _TSO4, _TSO6 = 1, 2, 4
_OFFLOADS = {"superpackets": _CHECKSUM | _TSO4 | _TSO6, "single": _CHECKSUM, "finished": 0}
_REQUEST = struct.Struct("16sH22x")
"""struct ifreq with flags."""
_OFFLOAD = struct.Struct("=BBHHHH")
"""Flags, kind of the superpacket, length of headers, payload of each frame, where the transport's
header begins, and where its checksum is."""
KIND = slice(HEADER + 12, HEADER + 14)
"""Place of the protocol in a frame."""
ARP, IPV4 = b"\x08\x06", b"\x08\x00"
"""Protocols; no link loses or delays ARP."""


def make(device: str) -> int:
    """Make the TAP `device` in this network; return its descriptor.

    The device exists as long as a descriptor is open. Raises DeploymentError.
    """
    try:
        end = os.open(PATH, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise DeploymentError(f"no TAP device {device}: {PATH}: {error.strerror}") from None
    try:
        fcntl.ioctl(end, _TUNSETIFF, _REQUEST.pack(device.encode(), _KIND))
        hand_over(end, "superpackets")
    except OSError as error:
        os.close(end)
        raise DeploymentError(f"no TAP device {device}: {error.strerror}") from None
    return end


def device(end: int) -> str | None:
    """Return the name of the TAP device of `end`; None if `end` is no TAP with offload headers."""
    try:
        answer = fcntl.ioctl(end, _TUNGETIFF, bytes(40))
    except OSError:
        return None
    name, flags = _REQUEST.unpack_from(answer)
    return name.rstrip(b"\0").decode(errors="replace") if flags & _KIND == _KIND else None


def hand_over(end: int, form: Form) -> None:
    """Let the kernel hand frames to the reader of `end` in this form. Raises OSError."""
    fcntl.ioctl(end, _TUNSETOFFLOAD, _OFFLOADS[form])


def call_flags(end: int) -> int:
    """Return the flags for `os.preadv` and `os.pwritev` with which no call at `end` ever waits.

    Who holds a copy of the descriptor may let it wait: that is a property of both. The flags are
    zero where the kernel refuses RWF_NOWAIT for TAP devices. Raises OSError.
    """
    flags = int(os.RWF_NOWAIT)
    try:
        # an empty write would succeed before the kernel looks at the flags
        os.pwritev(end, [b"\0"], -1, flags)
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            return 0
        if error.errno != errno.EINVAL:  # the answer to a frame that is shorter than its header
            raise
    return flags


def frames(frame: bytes) -> int:
    """Return the number of frames that the kernel will make of `frame`."""
    _, kind, _, size, transport, _ = _OFFLOAD.unpack_from(frame)
    if not (kind and size):
        return 1
    payload = len(frame) - HEADER - _headers(frame, transport)
    number: int = -(-payload // size)
    return max(1, number)


def wire_bytes(frame: bytes) -> int:
    """Return the bytes on the wire of all frames that the kernel will make of `frame`."""
    whole, number = len(frame) - HEADER, frames(frame)
    if number == 1:
        return whole
    return whole + (number - 1) * _headers(frame, _OFFLOAD.unpack_from(frame)[4])


def _headers(frame: bytes, transport: int) -> int:
    """Return the bytes of the headers that each frame of a TCP superpacket repeats.

    `transport`: where TCP's header begins.
    """
    # the length of headers in the offload header is a hint only, and may include payload
    offset = HEADER + transport + 12
    return transport + (frame[offset] >> 4) * 4 if offset < len(frame) else transport
