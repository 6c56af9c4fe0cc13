"""Socket options that both ends set alike."""

from typing import Any

import zmq

QUEUE = 64
"""Frames that may wait for one peer; a model is two, an update four."""


def prepare(socket: "zmq.Socket[Any]") -> None:
    """Bounded queues, and no waiting for the dead on close."""
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.SNDHWM, QUEUE)
    socket.setsockopt(zmq.RCVHWM, QUEUE)
