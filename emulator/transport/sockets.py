"""Socket options that both ends set alike."""

from typing import Any

import zmq

from .heartbeat import Heartbeat

QUEUE = 64
"""Frames that may wait for one peer; a model is two, an update four."""


def prepare(socket: "zmq.Socket[Any]", heartbeat: Heartbeat) -> None:
    """Bounded queues, heartbeats both ways, and no waiting for the dead on close."""
    milliseconds = round(heartbeat.timeout * 1000)
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.HEARTBEAT_IVL, round(heartbeat.interval * 1000))
    socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, milliseconds)
    socket.setsockopt(zmq.HEARTBEAT_TTL, min(milliseconds, 6_553_000))
    socket.setsockopt(zmq.SNDHWM, QUEUE)
    socket.setsockopt(zmq.RCVHWM, QUEUE)
