"""A datagram that wakes up the queues of a link whose rate has risen."""

import socket
from contextlib import suppress

DISCARD = 9
"""UDP port of the discard service, on which nobody listens."""


def wake_queues(address: str) -> None:
    """Send an empty datagram to the host of `address`, as `tcp://172.18.0.2:5555`.

    tbf computes once when the next waiting packet may leave, at the rate of that moment: after an
    outage it sleeps on for minutes, until a packet joins the queue. The datagram joins the queue of
    the uplink, and the answer of the host's kernel, that nobody listens, that of the downlink. TCP
    alone would try after up to the outage's length.
    """
    host = address.removeprefix("tcp://").rpartition(":")[0]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender, suppress(OSError):
        sender.sendto(b"", socket.MSG_DONTWAIT, (host, DISCARD))
