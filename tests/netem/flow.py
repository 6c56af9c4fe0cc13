"""Traffic between two ends of a link, as a script for either end; it imports nothing of ours.

Both ends read one clock, that of the host they share. What an end saw it prints as JSON.
"""

import contextlib
import json
import signal
import socket
import struct
import sys
import time

STAMP = struct.Struct("!Qd")


def sink(port: str, limit: str = "0") -> None:
    """Print [bytes, sent, begun, received whole] of each message on the first connection.

    A message has begun when its first bytes have come. Messages that are not whole `limit` seconds
    after the connection was made are left out; 0 is no limit.
    """
    with socket.create_server(("", int(port))) as server:
        peer, _ = server.accept()
    signal.signal(signal.SIGALRM, _late)
    signal.setitimer(signal.ITIMER_REAL, float(limit))
    seen: list[list[float]] = []
    with contextlib.suppress(TimeoutError):
        while len(head := peer.recv(STAMP.size, socket.MSG_WAITALL)) == STAMP.size:
            begun = time.monotonic()
            size, sent = STAMP.unpack(head)
            left = size - STAMP.size
            while left:
                left -= len(peer.recv(min(left, 1 << 18)))
            seen.append([size, sent, begun, time.monotonic()])
        signal.setitimer(signal.ITIMER_REAL, 0)
    print(json.dumps(seen))


def _late(*_: object) -> None:
    raise TimeoutError


def source(host: str, port: str, size: str, count: str, gap: str, control: str, pause: str) -> None:
    """Send `count` messages of `size` bytes, `gap` seconds after one another, after a pause.

    Prints how many segments TCP sent again.
    """
    message = bytearray(int(size))
    peer = _connect(host, int(port), control)
    began = time.monotonic() + float(pause)
    for number in range(int(count)):
        time.sleep(max(0.0, began + number * float(gap) - time.monotonic()))
        STAMP.pack_into(message, 0, len(message), time.monotonic())
        peer.sendall(message)
    peer.shutdown(socket.SHUT_WR)
    peer.recv(1)  # until the other end has all of it
    info = peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    print(int.from_bytes(info[100:104], sys.byteorder))  # tcpi_total_retrans


def _connect(host: str, port: int, control: str) -> socket.socket:
    end = time.monotonic() + 10
    while True:
        peer = socket.socket()
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            peer.connect((host, port))
            return peer
        except ConnectionRefusedError:
            peer.close()
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def echo(port: str) -> None:
    """Send every datagram back, until told to stop."""
    server = socket.socket(type=socket.SOCK_DGRAM)
    server.bind(("", int(port)))
    print("ready", flush=True)
    while True:
        data, peer = server.recvfrom(2048)
        server.sendto(data, peer)


def ping(host: str, port: str, count: str, gap: str, wait: str) -> None:
    """Print the round-trip time of each datagram in order of sending; null if none was made."""
    peer = socket.socket(type=socket.SOCK_DGRAM)
    peer.connect((host, int(port)))
    times: list[float | None] = [None] * int(count)
    began = time.monotonic()
    for number in range(int(count)):
        _collect(peer, times, began + number * float(gap))
        with contextlib.suppress(PermissionError):  # so says a local drop
            peer.send(STAMP.pack(number, time.monotonic()))
    _collect(peer, times, time.monotonic() + float(wait))
    print(json.dumps(times))


def spray(host: str, port: str, count: str, gap: str, size: str) -> None:
    """Send `count` numbered datagrams of `size` bytes, `gap` seconds after one another."""
    peer = socket.socket(type=socket.SOCK_DGRAM)
    peer.connect((host, int(port)))
    message = bytearray(int(size))
    began = time.monotonic()
    for number in range(int(count)):
        time.sleep(max(0.0, began + number * float(gap) - time.monotonic()))
        STAMP.pack_into(message, 0, number, time.monotonic())
        peer.send(message)
    print("null")


def gather(port: str, wait: str) -> None:
    """Print [number, sent, received] of each datagram in order of arrival, until none comes for
    `wait` seconds."""
    server = socket.socket(type=socket.SOCK_DGRAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    server.bind(("", int(port)))
    print("ready", flush=True)
    seen = []
    while True:
        try:
            data = server.recv(2048)
        except TimeoutError:
            break
        seen.append([*STAMP.unpack_from(data), time.monotonic()])
        server.settimeout(float(wait))
    print(json.dumps(seen))


def _collect(peer: socket.socket, times: list[float | None], until: float) -> None:
    while (left := until - time.monotonic()) > 0:
        peer.settimeout(left)
        try:
            number, sent = STAMP.unpack(peer.recv(2048))
        except TimeoutError:
            return
        times[number] = time.monotonic() - sent


if __name__ == "__main__":
    roles = {"sink": sink, "source": source, "echo": echo, "ping": ping}
    (roles | {"spray": spray, "gather": gather})[sys.argv[1]](*sys.argv[2:])
