"""Socket options that server and nodes have in common, and events of their connections."""

import sys
from collections.abc import Iterator
from typing import Any

import zmq

QUEUE = 1024
"""Messages that may wait for one peer; more than an update or a model has pieces."""

UP = zmq.EVENT_HANDSHAKE_SUCCEEDED
"""Event of a connection over which messages can pass."""


def prepare(socket: "zmq.Socket[Any]") -> None:
    """Bound the queues of `socket`, and let it close without waiting for unsent messages."""
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.SNDHWM, QUEUE)
    socket.setsockopt(zmq.RCVHWM, QUEUE)


def listen(socket: "zmq.Socket[Any]", wanted: int) -> "zmq.Socket[Any]":
    """Return a socket that receives the events of `socket` in the bit mask `wanted`."""
    address = f"inproc://events-{id(socket)}"
    socket.monitor(address, wanted)
    context: zmq.Context[Any] = socket.context
    monitor: zmq.Socket[Any] = context.socket(zmq.PAIR)
    monitor.setsockopt(zmq.RCVHWM, 0)  # unbounded: libzmq blocks while its events find no room
    monitor.setsockopt(zmq.LINGER, 0)
    monitor.connect(address)
    return monitor


def events(monitor: "zmq.Socket[Any]") -> Iterator[tuple[int, int]]:
    """Yield the waiting events of `monitor`, a socket made by `listen`, each with a value.

    The value is the connection's descriptor, or an error number.
    """
    while monitor.poll(0):
        frame, _ = monitor.recv_multipart()
        yield (
            int.from_bytes(frame[:2], sys.byteorder),
            int.from_bytes(frame[2:], sys.byteorder, signed=True),
        )
