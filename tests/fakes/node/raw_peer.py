"""A peer without libzmq, which sends whatever bytes a test wants (ZMTP 3.1, PLAIN)."""

import socket
import struct
from types import TracebackType
from typing import Self

from emulator.transport.secrets import Token


def frame(data: bytes, *, more: bool) -> bytes:
    """Return the frame of `data`; `more` frames of its message follow, or none."""
    if len(data) < 256:
        return bytes([more, len(data)]) + data
    return bytes([2 + more]) + struct.pack(">Q", len(data)) + data


class RawPeer:
    """An admitted connection to the server at `address`, from `source`: each device has its own."""

    def __init__(self, address: str, token: Token, source: str = "127.0.0.2") -> None:
        host, _, port = address.removeprefix("tcp://").rpartition(":")
        self._socket = socket.create_connection((host, int(port)), 20.0, (source, 0))
        try:
            self._shake_hands(token)
        except BaseException:
            self.close()
            raise

    def _shake_hands(self, token: Token) -> None:
        self.send(b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"PLAIN".ljust(20, b"\0") + bytes(32))
        self._read(64)
        name, secret = token.name.encode(), token.token.encode()
        self._command(b"HELLO", bytes([len(name)]) + name + bytes([len(secret)]) + secret)
        self._reply(b"WELCOME")
        self._command(b"INITIATE", b"\x0bSocket-Type\0\0\0\x06DEALER")
        self._reply(b"READY")

    def send(self, data: bytes) -> None:
        """Send `data`; raise OSError if the server has hung up."""
        self._socket.sendall(data)

    def reset(self) -> None:
        """Break the connection, rather than end it."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def close(self) -> None:
        self._socket.close()

    def _command(self, name: bytes, body: bytes) -> None:
        content = bytes([len(name)]) + name + body
        self.send(bytes([4, len(content)]) + content)

    def _reply(self, name: bytes) -> None:
        flags, length = self._read(2)
        content = self._read(length)
        assert flags == 4 and content[1 : 1 + content[0]] == name, content

    def _read(self, number: int) -> bytes:
        data = b""
        while len(data) < number:
            came = self._socket.recv(number - len(data))
            if not came:
                raise ConnectionError("the server hung up")
            data += came
        return data

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()
