"""Attachment of a container's network to the box; runs as root of that network.

The caller needs the capability NET_ADMIN, /dev/net/tun, and the socket of the box.
"""

import json
import os
import socket
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...errors import DeploymentError
from ...world.links.link import Link, Side
from .. import tc
from ..backend import Backend
from ..command import apply
from . import departure_watch, link_request, rewiring, tap
from .rewiring import Addressing

TIMEOUT = 30.0
"""Longest time in seconds for which the box may owe an answer."""
_LONGEST_ANSWER = 65536


def connect(path: str | Path) -> socket.socket:
    """Connect to the box with the socket at `path`. Raises DeploymentError.

    A link can be changed and detached only by the connection that attached it.
    """
    box = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    box.settimeout(TIMEOUT)
    try:
        box.connect(str(path))
    except OSError as error:
        box.close()
        raise DeploymentError(f"no packet box at {path}: {error.strerror}") from None
    return box


def attach(
    box: socket.socket,
    name: str,
    link: Link,
    backend: Backend,
    device: str = "eth0",
    beyond: Iterable[Side] = (),
    *,
    changing: bool = False,
) -> Addressing:
    """Put `device` of this network behind `link`, which the box carries under `name`.

    `beyond` are the sides of far ends that outgoing packets pass; `changing`: whether `change` may
    follow. Return the addressing of `device`, for `detach`. Raises DeploymentError, and then the
    network is as before.
    """
    segments = 1 if changing else tc.segments(link.up, beyond, backend)
    before = rewiring.read_addressing(device)
    ends: list[int] = []
    try:
        ends.append(tap.make(rewiring.WAN))
        apply(rewiring.part(device))
        ends.insert(0, tap.make(device))
        _join_wire(before)
        apply(rewiring.join(before, device, segments))
        apply(rewiring.shape(link, backend, changing=changing))
        ends.append(departure_watch.watch())
        rates = backend.rate != "tbf"
        _ask(box, link_request.encode("attach", name, link, rates=rates), ends)
    except BaseException:
        _close(ends)
        apply(rewiring.restore(before, device))
        raise
    _close(ends)
    return before


def _join_wire(before: Addressing) -> None:
    """Join the wire and the TAP at its side by the better of two ways that the kernel has."""
    try:
        apply(rewiring.redirect())
    except DeploymentError:
        apply(rewiring.bridge(before))


def change(box: socket.socket, name: str, old: Link, new: Link, backend: Backend) -> None:
    """Turn the link `old`, attached as changing, into `new`; queued packets stay.

    Raises DeploymentError.
    """
    _ask(box, link_request.encode("change", name, new))
    apply(rewiring.reshape(old, new, backend))


def report(box: socket.socket, name: str) -> dict[str, Any]:
    """Return the counts of both directions of the link `name`. Raises DeploymentError."""
    return _ask(box, link_request.encode("report", name))


def detach(box: socket.socket, name: str, before: Addressing, device: str = "eth0") -> None:
    """Undo `attach`: `device` is the container's own device again. Raises DeploymentError.

    `before` is the addressing that `attach` returned, which is given back if the box is dead: the
    device and its addresses died with the box.
    """
    with suppress(DeploymentError):
        before = rewiring.read_addressing(device)
    with suppress(DeploymentError):  # of a dead box; of another refusal the check below tells
        _ask(box, link_request.encode("detach", name))
    apply(rewiring.restore(before, device))
    found = rewiring.read_addressing(device)
    if found.addresses != before.addresses:
        given = ", ".join(found.addresses) or "no address"
        raise DeploymentError(f"{device} is not as it was: it has {given}")


def _ask(box: socket.socket, request: bytes, ends: Iterable[int] = ()) -> dict[str, Any]:
    """Send a request with descriptors; return the answer. Raises DeploymentError."""
    try:
        # a box that refuses a connection has closed it, and its answer waits to be read
        with suppress(BrokenPipeError):
            socket.send_fds(box, [request], list(ends))
        try:
            packet = box.recv(_LONGEST_ANSWER)
        except ConnectionResetError:
            packet = box.recv(_LONGEST_ANSWER)
        answer: dict[str, Any] = json.loads(packet or b'{"error": "it ended"}')
    except OSError as error:
        raise DeploymentError(f"the packet box does not answer: {error}") from None
    if "error" in answer:
        raise DeploymentError(f"the packet box refused: {answer['error']}")
    return answer


def _close(ends: Iterable[int]) -> None:
    for end in ends:
        os.close(end)
