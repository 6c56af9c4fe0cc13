"""The socket of the box: connections from containers, and a request a packet."""

import json
import os
import socket
from pathlib import Path
from typing import Any

from ...errors import shortened
from .carried_links import CarriedLinks
from .link_request import LARGEST, RefusedRequestError, decode

MOST_CONNECTIONS = 8192
"""Most connections at a time; further ones are closed at once."""
_MOST_DESCRIPTORS = 3


class RequestSocket:
    """Listener at a path, and the connections that it has accepted."""

    def __init__(self, path: Path, links: CarriedLinks) -> None:
        self._links = links
        self._connections: set[socket.socket] = set()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        path.unlink(missing_ok=True)
        self._listener.bind(str(path))
        path.chmod(0o666)  # containers may have other users; the folder says who may connect
        self._listener.listen(1024)
        self._listener.setblocking(False)
        links.loop.watch(self._listener.fileno(), self._accept)

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:  # withdrawn since, or no descriptor left
            return
        if len(self._connections) >= MOST_CONNECTIONS:
            connection.close()
            return
        connection.setblocking(False)
        self._connections.add(connection)
        self._links.loop.watch(connection.fileno(), lambda: self._serve(connection))

    def _serve(self, connection: socket.socket) -> None:
        """Answer a request of `connection`, or close it if its peer has."""
        try:
            packet, ends, flags, _ = socket.recv_fds(connection, LARGEST + 1, _MOST_DESCRIPTORS)
        except BlockingIOError:
            return
        except OSError:
            self._end(connection)
            return
        if not packet:
            _close(ends)
            self._end(connection)
            return
        answer = self._answer(packet, list(ends), flags, connection)
        try:
            connection.send(json.dumps(answer).encode())
        except OSError:  # a peer that reads no answers gets no more of them
            self._end(connection)

    def _answer(
        self, packet: bytes, ends: list[int], flags: int, connection: socket.socket
    ) -> dict[str, Any]:
        try:
            if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
                raise RefusedRequestError("the request is too long, or has too many descriptors")
            request = decode(packet)
            if ends and request.do != "attach":
                raise RefusedRequestError(f"{request.do} takes no descriptors")
            return self._links.answer(request, ends, connection)
        except RefusedRequestError as error:
            _close(ends)
            return {"error": str(error)}
        except OSError as error:  # a descriptor that is a TAP's, and unfit all the same
            _close(ends)
            return {"error": f"the TAP devices are unfit: {shortened(error.strerror)}"}

    def _end(self, connection: socket.socket) -> None:
        self._links.loop.forget(connection.fileno())
        self._links.leave(connection)
        self._connections.discard(connection)
        connection.close()

    def close(self) -> None:
        """Close the listener and all connections."""
        for connection in list(self._connections):
            self._end(connection)
        self._links.loop.forget(self._listener.fileno())
        self._listener.close()


def _close(ends: list[int]) -> None:
    for end in ends:
        os.close(end)
