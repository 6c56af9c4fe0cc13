"""The line between the conductor and its containers: standard input and output, all at once.

One thread listens to all of them. The line is also a lifeline: when the conductor dies, in
whatever way, the engine closes its end, and each supervisor ends its container.
"""

import json
import selectors
import socket
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from docker import DockerClient

_HEADER = 8
"""Docker frames what a container prints: stream number, three zeros, length (big-endian u32)."""

_ERROR_STREAM = 2


class Said(NamedTuple):
    """One line that a container printed. `fact` holds what its supervisor reports, else None."""

    node: str
    text: str
    fact: dict[str, Any] | None


class OutputEnded(NamedTuple):
    """A container's output has ended, so the container has."""

    node: str


@dataclass(eq=False)
class _Line:
    """One container's socket, and what of its frames and lines is not complete."""

    node: str
    holder: Any
    socket: socket.socket
    raw: bytearray = field(default_factory=bytearray)
    lines: dict[int, bytearray] = field(default_factory=lambda: {1: bytearray(), 2: bytearray()})

    def feed(self, data: bytes) -> list[Said]:
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
        return [_said(self.node, stream, line.decode(errors="replace")) for line in whole]


def _said(node: str, stream: int, line: str) -> Said:
    if stream != _ERROR_STREAM:
        try:
            fact = json.loads(line)
        except ValueError:
            fact = None
        if isinstance(fact, dict) and "what" in fact:
            return Said(node, line, fact)
    return Said(node, line, None)


class Stdio:
    """Every container's line. Opened before the container starts, so no word is missed."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._lines: dict[str, _Line] = {}

    def open(self, client: DockerClient, node: str, container: str) -> None:
        params = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        holder = client.api.attach_socket(container, params=params)
        raw: socket.socket = getattr(holder, "_sock", holder)
        raw.settimeout(10.0)
        self._lines[node] = _Line(node, holder, raw)

    def listen(self, node: str) -> None:
        """Take part in `read`. Apart from `open`, which other threads may call."""
        line = self._lines[node]
        self._selector.register(line.socket, selectors.EVENT_READ, line)

    def tell(self, node: str, order: dict[str, Any]) -> bool:
        """Give a supervisor an order; False if its container has ended."""
        line = self._lines.get(node)
        if line is None:
            return False
        try:
            line.socket.sendall(json.dumps(order).encode() + b"\n")
        except OSError:
            return False
        return True

    def read(self, timeout: float) -> list[Said | OutputEnded]:
        """What the containers say within `timeout` seconds; returns as soon as one speaks."""
        news: list[Said | OutputEnded] = []
        for key, _ in self._selector.select(max(0.0, timeout)):
            line: _Line = key.data
            try:
                data = line.socket.recv(65536)
            except OSError:
                data = b""
            news += line.feed(data) if data else [self._end(line)]
        return news

    def _end(self, line: _Line) -> OutputEnded:
        self._selector.unregister(line.socket)
        del self._lines[line.node]
        _close(line)
        return OutputEnded(line.node)

    def close(self) -> None:
        for line in self._lines.values():
            _close(line)
        self._lines.clear()
        self._selector.close()


def _close(line: _Line) -> None:
    # docker's response wraps the socket once more, and minds that it is closed below it
    for end in (line.holder, line.socket, getattr(line.holder, "_response", None)):
        with suppress(OSError, ValueError):
            if end is not None:
                end.close()
