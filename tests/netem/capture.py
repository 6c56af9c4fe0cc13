"""Capture of all packets of a network namespace: `capture.py FILE`, until its input ends.

Each IPv4 packet becomes a record: time of the kernel in nanoseconds since 1970, whether it left,
bytes on the wire, name of the device, and its first bytes from the Ethernet header on. The script
needs the standard library only, and prints `ready` when it captures.
"""

import socket
import struct
import sys
import threading
from pathlib import Path

RECORD = struct.Struct("=qBI8s96s")
_TIMESTAMPNS, _BUFFER_FORCE, _TIME = 35, 33, struct.Struct("=qq")
_ALL, _OUTGOING, _BUFFER = 3, 4, 64 << 20


def main(path: str) -> None:
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL))
    raw.setsockopt(socket.SOL_SOCKET, _BUFFER_FORCE, _BUFFER)
    raw.setsockopt(socket.SOL_SOCKET, _TIMESTAMPNS, 1)
    raw.settimeout(0.1)
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
    print("ready", flush=True)
    room, kept = bytearray(96), bytearray()
    while not over.is_set():
        try:
            length, extra, _, (device, protocol, kind, *_) = raw.recvmsg_into(
                [room], 64, socket.MSG_TRUNC
            )
        except TimeoutError:
            continue
        except OSError:  # the network of the device has ended
            continue
        if protocol != 0x0800:
            continue
        seconds, nanoseconds = _TIME.unpack_from(extra[0][2])
        kept += RECORD.pack(
            seconds * 10**9 + nanoseconds, kind == _OUTGOING, length, device.encode(), bytes(room)
        )
    Path(path).write_bytes(kept)


if __name__ == "__main__":
    main(*sys.argv[1:])
