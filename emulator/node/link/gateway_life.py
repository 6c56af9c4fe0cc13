"""The only process of a gateway's container: shapes the queues, and lets the kernel forward.

The only order for a gateway, any line, is to report what was measured and to end. The container
ends with its standard input, too, as every container of a run does.
"""

import os
import select
import signal
import socket
import struct
import sys
from typing import NoReturn

from ...errors import DeploymentError
from ...shaping.command import apply
from ...shaping.gateway import DEVICE
from ..config import NodeConfig
from ..fidelity.bottleneck_meter import BottleneckMeter
from ..reports import FailedReport, ReadyReport, say

_CHANGE_LINK, _ERROR = 19, 2
"""Types of messages, from linux/rtnetlink.h and linux/netlink.h."""
_REQUEST_WITH_ANSWER = 0x5
_PER_FAMILY, _IPV4_SETTINGS, _SEND_REDIRECTS = 26, 1, 6
"""IFLA_AF_SPEC, IFLA_INET_CONF and IPV4_DEVCONF_SEND_REDIRECTS, from linux/if_link.h and ip.h."""


def main(node: NodeConfig) -> NoReturn:
    """Run the gateway of `node` until it is told to end, or the conductor is gone; exit with 1 if
    the network fails."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    try:
        apply(node.network.shape)
        send_no_redirects(DEVICE)
    except DeploymentError as error:
        say(FailedReport(f"{node.name}: {error}"))
        sys.exit(1)
    say(ReadyReport())
    meter = BottleneckMeter(node)
    while True:
        ready, _, _ = select.select([0], [], [], meter.rest())
        if ready:
            if os.read(0, 65536):
                meter.end(say)
            sys.exit(0)
        meter.tick(say)


def send_no_redirects(device: str) -> None:
    """Keep the kernel from telling senders that `device` forwards back onto their own network.

    A sender that is told so goes around the queues. Over netlink, as containers cannot write to
    /proc/sys; `net.ipv4.conf.all.send_redirects` has to be 0, too. Raises DeploymentError.
    """
    setting = _attribute(_SEND_REDIRECTS, struct.pack("=I", 0))
    family = _attribute(socket.AF_INET, _attribute(_IPV4_SETTINGS, setting))
    index = socket.if_nametoindex(device)
    body = struct.pack("=BxHiII", socket.AF_UNSPEC, 0, index, 0, 0)
    body += _attribute(_PER_FAMILY, family)
    head = struct.pack("=IHHII", 16 + len(body), _CHANGE_LINK, _REQUEST_WITH_ANSWER, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as link:
        link.send(head + body)
        answer = link.recv(65536)
    (kind,) = struct.unpack_from("=4xH", answer)
    (code,) = struct.unpack_from("=i", answer, 16)
    if kind != _ERROR or code:
        raise DeploymentError(f"{device} may send redirects: {os.strerror(-code)}")


def _attribute(kind: int, content: bytes) -> bytes:
    """Return a netlink attribute, padded to four bytes."""
    size = 4 + len(content)
    return struct.pack("=HH", size, kind) + content + bytes(-size % 4)
