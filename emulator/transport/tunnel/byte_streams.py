"""Carries byte streams between local connections and the other end of a tunnel.

A sender lets at most `WINDOW` bytes of a stream be under way, so one that nobody reads holds up no
other one and fills no memory.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from .tunnel_heads import Close, Data, Open, Shut, StreamHead, Taken, Unread

WINDOW = 1 << 20
PIECE = 1 << 16

Send: TypeAlias = Callable[[StreamHead, bytes], None]
Connect: TypeAlias = Callable[[], Awaitable[socket.socket]]
"""Returns a connected socket that does not block. Sockets, and no streams of asyncio: those forget
what was read once a write has failed."""


async def connected(path: str | Path) -> socket.socket:
    """Connect to the Unix socket at `path`. Raises OSError if nothing listens there."""
    local = socket.socket(socket.AF_UNIX)
    local.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(local, str(path))
    except BaseException:
        local.close()
        raise
    return local


class ByteStreams:
    """The streams of a tunnel at one of its ends, by number. For one event loop."""

    def __init__(self, send: Send, broken: Callable[[str], None]) -> None:
        """`send` sends a message to the other end, and never waits. `broken` is called with the
        reason, and with that of the other end, when an error ends a stream."""
        self._send, self._broken = send, broken
        self._open: dict[int, _Stream] = {}

    def begin(self, number: int, connect: Connect) -> None:
        """Carry the stream `number` to and from the local connection that `connect` makes."""
        stream = self._open[number] = _Stream(number, self._send, self._broken)
        task = asyncio.ensure_future(stream.carry(connect))
        stream.task = task
        task.add_done_callback(lambda done: self._ended(number))

    def take(self, head: StreamHead, payload: bytes) -> None:
        """Take a message of the other end. What an unknown stream carries is answered by its close.

        A stream that has ended here may have pieces on their way there, of which the other end
        tells as it takes them.
        """
        stream = self._open.get(head.number)
        match head:
            case Close(_, why):
                if why:
                    self._broken(why)
                if stream is not None:
                    stream.cancel()
            case Taken() | Unread() if stream is None:
                pass
            case _ if stream is None:
                self._send(Close(head.number), b"")
            case Data():
                stream.arrived.put_nowait(payload)
            case Shut():
                stream.arrived.put_nowait(b"")
            case Taken(_, count):
                stream.taken(count)
            case Unread():
                stream.unread()
            case Open():
                raise ValueError(f"the stream {head.number} is open already")

    def close(self) -> None:
        """Begin to end all streams."""
        for stream in self._open.values():
            stream.cancel()

    async def closed(self) -> None:
        """End all streams, and wait until their connections are closed."""
        self.close()
        tasks = [stream.task for stream in self._open.values() if stream.task is not None]
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, number: int) -> None:
        del self._open[number]


class _Stream:
    """A stream at one end: two directions, each of which ends by itself.

    Each end is to its local connection as the other end's is to it: if the connection reads no
    more, the one at the other end cannot write any more, and what it sends still arrives.
    """

    def __init__(self, number: int, send: Send, broken: Callable[[str], None]) -> None:
        self._number, self._send, self._broken = number, send, broken
        self.arrived: asyncio.Queue[bytes] = asyncio.Queue()
        """Pieces for the local connection; an empty one is the last."""
        self.task: asyncio.Future[None] | None = None
        self._under_way = 0
        self._room = asyncio.Event()
        self._unread = False
        self._local: socket.socket | None = None

    def taken(self, count: int) -> None:
        self._under_way -= count
        self._room.set()

    def unread(self) -> None:
        """Take that the connection at the other end reads no more: let the local one write no
        more."""
        self._unread = True
        self._room.set()
        if self._local is not None:
            with suppress(OSError):  # the connection has gone
                self._local.shutdown(socket.SHUT_RD)

    def cancel(self) -> None:
        if self.task is not None:
            self.task.cancel()

    async def carry(self, connect: Connect) -> None:
        """Carry both directions to their ends. An error ends both, and the other end learns why."""
        try:
            local = self._local = await connect()
            if self._unread:
                self.unread()
            async with asyncio.TaskGroup() as ways:
                ways.create_task(self._outwards(local))
                ways.create_task(self._inwards(local))
        except* asyncio.CancelledError:
            self._send(Close(self._number), b"")
        except* OSError as errors:
            why = str(errors.exceptions[0])
            self._broken(why)
            self._send(Close(self._number, why), b"")
        finally:
            if self._local is not None:
                self._local.close()

    async def _outwards(self, local: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while data := await loop.sock_recv(local, PIECE):
            if self._unread:
                continue  # a writer that waits is refused only once there is room
            self._under_way += len(data)
            self._send(Data(self._number), data)
            while self._under_way >= WINDOW and not self._unread:
                self._room.clear()
                await self._room.wait()
        self._send(Shut(self._number), b"")

    async def _inwards(self, local: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while data := await self.arrived.get():
            try:
                await loop.sock_sendall(local, data)
            except (BrokenPipeError, ConnectionResetError):
                # it may have said its last word before, which `_outwards` has yet to read
                self._send(Unread(self._number), b"")
                return
            self._send(Taken(self._number, len(data)), b"")
        with suppress(OSError):  # the connection has gone
            local.shutdown(socket.SHUT_WR)
