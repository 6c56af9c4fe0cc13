"""Carries byte streams between local connections and the other end of a tunnel.

A sender lets at most `WINDOW` bytes of a stream be under way, so one that nobody reads holds up no
other one and fills no memory.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias

from .tunnel_heads import Close, Data, Open, Shut, StreamHead, Taken

WINDOW = 1 << 20
PIECE = 1 << 16

Send: TypeAlias = Callable[[StreamHead, bytes], None]
Ends: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect: TypeAlias = Callable[[], Awaitable[Ends]]


class ByteStreams:
    """The streams of a tunnel at one of its ends, by number. For one event loop."""

    def __init__(self, send: Send) -> None:
        """`send` sends a message to the other end, and never waits."""
        self._send = send
        self._open: dict[int, _Stream] = {}

    def begin(self, number: int, connect: Connect) -> None:
        """Carry the stream `number` to and from the local connection that `connect` makes."""
        stream = self._open[number] = _Stream(number, self._send)
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
            case Close():
                if stream is not None:
                    stream.cancel()
            case Taken() if stream is None:
                pass
            case _ if stream is None:
                self._send(Close(head.number), b"")
            case Data():
                stream.arrived.put_nowait(payload)
            case Shut():
                stream.arrived.put_nowait(b"")
            case Taken(_, count):
                stream.taken(count)
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
    """A stream at one end."""

    def __init__(self, number: int, send: Send) -> None:
        self._number, self._send = number, send
        self.arrived: asyncio.Queue[bytes] = asyncio.Queue()
        """Pieces for the local connection; an empty one is the last."""
        self.task: asyncio.Future[None] | None = None
        self._under_way = 0
        self._room = asyncio.Event()

    def taken(self, count: int) -> None:
        self._under_way -= count
        self._room.set()

    def cancel(self) -> None:
        if self.task is not None:
            self.task.cancel()

    async def carry(self, connect: Connect) -> None:
        """Carry both directions to their ends; tell the other end if one breaks."""
        writer = None
        try:
            reader, writer = await connect()
            async with asyncio.TaskGroup() as ways:
                ways.create_task(self._outwards(reader))
                ways.create_task(self._inwards(writer))
        except* (OSError, asyncio.CancelledError):
            self._send(Close(self._number), b"")
        finally:
            if writer is not None:
                writer.close()
                with suppress(OSError):
                    await writer.wait_closed()

    async def _outwards(self, reader: asyncio.StreamReader) -> None:
        while data := await reader.read(PIECE):
            self._under_way += len(data)
            self._send(Data(self._number), data)
            while self._under_way >= WINDOW:
                self._room.clear()
                await self._room.wait()
        self._send(Shut(self._number), b"")

    async def _inwards(self, writer: asyncio.StreamWriter) -> None:
        while data := await self.arrived.get():
            writer.write(data)
            await writer.drain()
            self._send(Taken(self._number, len(data)), b"")
        writer.write_eof()
