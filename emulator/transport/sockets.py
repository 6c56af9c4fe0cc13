"""Socket options that both ends set alike, and events of their connections."""

import sys
from collections.abc import Iterator
from typing import Any

import zmq

QUEUE = 64
"""Messages that may wait for one peer."""

UP = zmq.EVENT_HANDSHAKE_SUCCEEDED


def prepare(socket: "zmq.Socket[Any]") -> None:
    """Bounded queues, and no waiting for the dead on close."""
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.SNDHWM, QUEUE)
    socket.setsockopt(zmq.RCVHWM, QUEUE)


def listen(socket: "zmq.Socket[Any]", wanted: int) -> "zmq.Socket[Any]":
    """Return a socket that hears the `wanted` events of `socket`."""
    address = f"inproc://events-{id(socket)}"
    socket.monitor(address, wanted)
    context: zmq.Context[Any] = socket.context
    heard: zmq.Socket[Any] = context.socket(zmq.PAIR)
    heard.setsockopt(zmq.RCVHWM, 0)  # libzmq waits where its events find no room
    heard.setsockopt(zmq.LINGER, 0)
    heard.connect(address)
    return heard


def events(heard: "zmq.Socket[Any]") -> Iterator[tuple[int, int]]:
    """Yield each event that has come, and the descriptor or error that comes with it."""
    while heard.poll(0):
        what, _ = heard.recv_multipart()
        yield (
            int.from_bytes(what[:2], sys.byteorder),
            int.from_bytes(what[2:], sys.byteorder, signed=True),
        )
