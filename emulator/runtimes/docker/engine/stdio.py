"""The containers' standard input and output, by a connection to the engine for every container.

One thread reads from all connections. A connection is also a lifeline: when the conductor dies, in
any way, the engine closes the container's standard input, and the supervisor ends the container.
"""

import selectors
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ....node import reports
from ....node.forking.fork_messages import Fork
from ....node.orders import AnyOrder, encode
from ....node.reports import NodeReport
from .hosts import EngineHost

_HEADER = 8
"""Docker frames what a container prints: stream number, three zeros, length (big-endian u32)."""

_ERROR_STREAM = 2


class Said(NamedTuple):
    """A line of a container's output."""

    node: str
    text: str
    report: NodeReport | None = None
    """The supervisor's report, if the line is one."""
    now: float = 0.0
    """Time of the report by this machine's monotonic clock."""
    error: bool = False
    """Whether the line was printed to standard error."""


class OutputEnded(NamedTuple):
    """The end of a container's output, which is the end of the container."""

    node: str


@dataclass(eq=False)
class _Connection:
    """The connection to a container, with the bytes of incomplete frames and lines."""

    node: str
    holder: Any
    socket: socket.socket
    at_home: Callable[[float], float]
    """Turns readings of the clock of the container's host into those of this machine's."""
    raw: bytearray = field(default_factory=bytearray)
    lines: dict[int, bytearray] = field(default_factory=lambda: {1: bytearray(), 2: bytearray()})

    def feed(self, data: bytes) -> list[Said]:
        """Take `data` from the socket; return the lines that are complete."""
        self.raw += data
        said: list[Said] = []
        while len(self.raw) >= _HEADER:
            end = _HEADER + int.from_bytes(self.raw[4:_HEADER])
            if len(self.raw) < end:
                break
            stream, text = self.raw[0], self.raw[_HEADER:end]
            del self.raw[:end]
            said += self._split(stream, text)
        return said

    def _split(self, stream: int, text: bytearray) -> list[Said]:
        pending = self.lines.setdefault(stream, bytearray())
        pending += text
        *whole, rest = pending.split(b"\n")
        self.lines[stream] = bytearray(rest)
        texts = (line.decode(errors="replace") for line in whole)
        return [_said(self.node, stream, text, self.at_home) for text in texts]


def _said(node: str, stream: int, line: str, at_home: Callable[[float], float]) -> Said:
    """Return a `line` of `node`, decoded if it is a supervisor's report."""
    if stream == _ERROR_STREAM:
        return Said(node, line, error=True)
    stamped = reports.decode(line)
    if stamped is None:
        return Said(node, line)
    return Said(node, line, stamped.report, at_home(stamped.now))


class Stdio:
    """The connections to the containers of a run. Opened before the start, they miss no output."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._connections: dict[str, _Connection] = {}

    def open(self, host: EngineHost, node: str, container: str) -> None:
        """Attach to the `container` of `node`. Several threads may call this at once."""
        params = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        holder = host.client.api.attach_socket(container, params=params)
        raw: socket.socket = getattr(holder, "_sock", holder)
        raw.settimeout(10.0)
        self._connections[node] = _Connection(node, holder, raw, host.at_home)

    def listen(self, node: str) -> None:
        """Let `read` return the output of `node`. Only the thread that reads may call this."""
        connection = self._connections[node]
        self._selector.register(connection.socket, selectors.EVENT_READ, connection)

    def shut(self, node: str) -> None:
        """End the standard input of `node`, which goes on to be heard."""
        if (connection := self._connections.get(node)) is not None:
            with suppress(OSError):
                connection.socket.shutdown(socket.SHUT_WR)

    def tell(self, node: str, order: AnyOrder | Fork) -> bool:
        """Send `order` to the supervisor of `node`; return False if the container has ended."""
        connection = self._connections.get(node)
        if connection is None:
            return False
        try:
            connection.socket.sendall(encode(order) + b"\n")
        except OSError:
            return False
        return True

    def read(self, timeout: float) -> list[Said | OutputEnded]:
        """Return the containers' output, waiting up to `timeout` seconds for the first of it."""
        news: list[Said | OutputEnded] = []
        for key, _ in self._selector.select(max(0.0, timeout)):
            connection: _Connection = key.data
            try:
                data = connection.socket.recv(65536)
            except OSError:
                data = b""
            news += connection.feed(data) if data else [self._end(connection)]
        return news

    def _end(self, connection: _Connection) -> OutputEnded:
        self._selector.unregister(connection.socket)
        del self._connections[connection.node]
        _close(connection)
        return OutputEnded(connection.node)

    def close(self) -> None:
        for connection in self._connections.values():
            _close(connection)
        self._connections.clear()
        self._selector.close()


def _close(connection: _Connection) -> None:
    # docker's response wraps the socket once more, and warns if only the inner socket is closed
    for end in (
        connection.holder,
        connection.socket,
        getattr(connection.holder, "_response", None),
    ):
        with suppress(OSError, ValueError):
            if end is not None:
                end.close()
