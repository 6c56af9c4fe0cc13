"""The socket of the box: connections from containers, and a request a packet."""

import errno
import json
import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...errors import shortened
from .carried_links import CarriedLinks
from .link_request import LARGEST_REQUEST, RefusedRequestError, decode

MOST_CONNECTIONS = 8192
"""Most connections at a time; further ones are refused."""
_MOST_DESCRIPTORS = 3
_EXHAUSTED = (errno.EMFILE, errno.ENFILE)
"""Errors of a process, or a host, without a free descriptor."""


class RequestSocket:
    """Listener at a path, and the connections that it has accepted."""

    def __init__(self, path: Path, links: CarriedLinks, files: int) -> None:
        """`files`: the number of files that this process may open."""
        self._links, self._files = links, files
        self._connections: set[socket.socket] = set()
        self._spare = _spare()
        self._accepts = True
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
        except OSError as error:
            if error.errno in _EXHAUSTED:
                self._refuse_next()
            return  # else withdrawn since
        if len(self._connections) >= MOST_CONNECTIONS:
            _refuse(connection, f"the box has {MOST_CONNECTIONS} connections and takes no more")
            return
        connection.setblocking(False)
        try:
            self._links.loop.watch(connection.fileno(), lambda: self._serve(connection))
        except OSError as error:  # the user's limit of watched descriptors
            _refuse(connection, f"the box can watch no more descriptors: {error.strerror}")
            return
        self._connections.add(connection)

    def _refuse_next(self) -> None:
        """Refuse the next connection by the spare descriptor; without one, accept none for a time.

        A connection that nobody accepts keeps the listener readable, and the loop would spin.
        """
        if self._spare is not None:
            os.close(self._spare)
            with suppress(OSError):  # withdrawn since
                connection, _ = self._listener.accept()
                _refuse(connection, self._exhausted())
            self._spare = _spare()
        if self._spare is None and self._accepts:
            self._links.loop.forget(self._listener.fileno())
            self._accepts = False

    def accept_again(self) -> None:
        """Accept connections again after `_refuse_next` has found no descriptor."""
        self._spare = _spare() if self._spare is None else self._spare
        if not self._accepts:
            self._links.loop.watch(self._listener.fileno(), self._accept)
            self._accepts = True

    def _exhausted(self) -> str:
        return (
            f"the box may open no more than {self._files} files, four for each link: raise the "
            "engine's limit of open files (nofile)"
        )

    def _serve(self, connection: socket.socket) -> None:
        """Answer a request of `connection`, or close it if its peer has."""
        try:
            packet, ends, flags, _ = socket.recv_fds(
                connection, LARGEST_REQUEST + 1, _MOST_DESCRIPTORS
            )
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
            if flags & socket.MSG_TRUNC:
                raise RefusedRequestError("the request is too long")
            if flags & socket.MSG_CTRUNC and len(ends) < _MOST_DESCRIPTORS:
                raise RefusedRequestError(self._exhausted())
            if flags & socket.MSG_CTRUNC:
                raise RefusedRequestError("the request has too many descriptors")
            request = decode(packet)
            if ends and request.do != "attach":
                raise RefusedRequestError(f"{request.do} takes no descriptors")
            return self._links.answer(request, ends, connection)
        except RefusedRequestError as error:
            _close(ends)
            return {"error": str(error)}
        except OSError as error:  # a descriptor that is a TAP's, and unfit all the same
            _close(ends)
            if error.errno in _EXHAUSTED:
                return {"error": self._exhausted()}
            return {"error": f"the TAP devices are unfit: {shortened(error.strerror)}"}
        except Exception as error:  # the box carries the links of others, whatever one asks for
            _close(ends)
            kind = type(error).__name__
            return {"error": f"the request cannot be served: {kind}: {shortened(str(error))}"}

    def _end(self, connection: socket.socket) -> None:
        self._links.loop.forget(connection.fileno())
        self._links.leave(connection)
        self._connections.discard(connection)
        connection.close()

    def close(self) -> None:
        """Close the listener and all connections."""
        for connection in list(self._connections):
            self._end(connection)
        if self._accepts:
            self._links.loop.forget(self._listener.fileno())
        self._listener.close()


def _spare() -> int | None:
    """Return a descriptor that can be given up for another one; None if none is left."""
    try:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def _refuse(connection: socket.socket, why: str) -> None:
    """Say `why` to a new `connection`, and close it."""
    with connection, suppress(OSError):  # a peer may be gone
        connection.setblocking(False)
        connection.send(json.dumps({"error": why}).encode())


def _close(ends: list[int]) -> None:
    for end in ends:
        os.close(end)
