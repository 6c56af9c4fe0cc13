"""The conductor's end of a tunnel: a thread, and a Unix socket that leads to the host's engine."""

import asyncio
import itertools
import math
import socket
import threading
import time
from collections.abc import Coroutine
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import zmq
import zmq.asyncio

from ...machine.host import Samples
from ..secrets import KeyPair
from .byte_streams import ByteStreams
from .clock_offset import ClockOffset
from .tunnel_heads import AnyTunnelHead, NoReply, Open, Question, Reply, decode, encode

T = TypeVar("T")

LOOK = 0.5
"""Seconds between two readings of the host's clock."""

PATIENCE = 10.0
"""Seconds without an answer after which a host counts as lost."""

LARGEST_ANSWER = 1 << 20
"""Bytes of the largest message that an agent may send: pieces of streams, and short answers."""

ALIVE_LOOK = 1.0
"""Seconds between looks whether the thread is there that has to answer."""

BACKLOG = 100
"""Connections to the engine that may wait to be taken."""


class TunnelError(OSError):
    """The agent refuses, or does not answer."""


class _Reading(msgspec.Struct):
    """An agent's answer on its host's clock and load."""

    now: float
    busy: list[float] = []
    pressure: list[float | None] = []

    def __post_init__(self) -> None:
        numbers = self.now, *self.busy, *(share for share in self.pressure if share is not None)
        if not all(map(math.isfinite, numbers)) or len(self.busy) != len(self.pressure):
            raise ValueError("a clock and a load that are none")


class Tunnel:
    """The connection to the agent of one host, until `close`.

    Connections to the Unix socket `path` are connections to the host's engine. Once the host is
    lost they end, and no other is made.
    """

    def __init__(self, address: str, keys: KeyPair, path: Path) -> None:
        """`address`: the agent's, as `tcp://10.0.0.2:29017`."""
        self.path, self.offset, self.load = path, ClockOffset(), Samples()
        self.lost = ""
        """Why the host is lost; empty while it is not."""
        self._address, self._keys = address, keys
        self._broken = float("-inf"), ""
        """When an error ended a stream at last, and why."""
        self._numbers = itertools.count(1)
        self._questions: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._ready.wait()

    def ask(
        self, what: str, payload: bytes = b"", timeout: float = PATIENCE, **facts: Any
    ) -> dict[str, Any]:
        """Return the agent's answer. Raises TunnelError if it refuses, or gives none in time."""
        if self.lost:
            raise TunnelError(self.lost)
        return self._called(self._ask(what, facts, payload, timeout))

    def close(self) -> None:
        """End the streams and the thread. Idempotent."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._over.set)
            self._thread.join()

    def broken(self, since: float) -> str:
        """Return why a stream ended by an error, at its connection or at the engine's, at or after
        the time `since` of the monotonic clock; empty if none did."""
        at, why = self._broken
        return why if at >= since else ""

    def _called(self, call: Coroutine[Any, Any, T]) -> T:
        if not self._thread.is_alive():
            call.close()
            raise TunnelError("the connection to the agent has ended")
        done: Future[T] = asyncio.run_coroutine_threadsafe(call, self._loop)
        while self._thread.is_alive():
            try:
                return done.result(ALIVE_LOOK)
            except TimeoutError:
                if done.done():
                    raise
        if done.done():
            return done.result()
        call.close()  # the thread ended before it began with the call
        raise TunnelError("the connection to the agent has ended")

    # -- in the thread -----------------------------------------------------------------------------

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        context = zmq.asyncio.Context()
        self._socket = context.socket(zmq.DEALER)
        for option in (zmq.LINGER, zmq.SNDHWM, zmq.RCVHWM):
            self._socket.setsockopt(option, 0)
        self._socket.setsockopt(zmq.MAXMSGSIZE, LARGEST_ANSWER)
        self._socket.setsockopt(zmq.RECONNECT_IVL, 100)
        self._socket.curve_publickey = self._keys.public.encode()
        self._socket.curve_secretkey = self._keys.private.encode()
        self._socket.curve_serverkey = self._keys.server.encode()
        self._socket.connect(self._address)
        self._streams = ByteStreams(self._send, self._broke)
        server = socket.socket(socket.AF_UNIX)
        server.setblocking(False)
        server.bind(str(self.path))
        server.listen(BACKLOG)
        doing = self._receive(), self._watch(), self._accept(server)
        tasks = [asyncio.ensure_future(self._trusting(each)) for each in doing]
        self._ready.set()
        await self._over.wait()
        for task in tasks:
            task.cancel()
        self._end("the connection to the agent has ended")
        await self._streams.closed()
        await asyncio.gather(*tasks, return_exceptions=True)
        server.close()
        self._socket.close()
        context.term()
        self.path.unlink(missing_ok=True)

    async def _trusting(self, doing: Coroutine[Any, Any, None]) -> None:
        """Do `doing`, and give the host up for lost if its agent answers wrongly."""
        try:
            await doing
        except (ValueError, msgspec.MsgspecError) as error:
            self._end(f"its agent answers wrongly: {error}")

    async def _accept(self, server: socket.socket) -> None:
        """Begin a stream for each connection to `server`."""
        while True:
            try:
                local, _ = await self._loop.sock_accept(server)
            except OSError:  # too many files are open in this process
                await asyncio.sleep(ALIVE_LOOK)
                continue
            if self.lost:
                local.close()
                continue
            number = next(self._numbers)
            self._send(Open(number))
            self._streams.begin(number, partial(_itself, local))

    async def _receive(self) -> None:
        while True:
            head, payload = await self._socket.recv_multipart()
            match decode(head):
                case Reply(number, facts):
                    if (waits := self._questions.pop(number, None)) and not waits.done():
                        waits.set_result(facts)
                case NoReply(number, why):
                    if (waits := self._questions.pop(number, None)) and not waits.done():
                        waits.set_exception(TunnelError(why))
                case Question():
                    pass  # a conductor answers nothing
                case other:
                    self._streams.take(other, payload)

    async def _ask(
        self, what: str, facts: dict[str, Any], payload: bytes, timeout: float
    ) -> dict[str, Any]:
        number = next(self._numbers)
        waits = self._questions[number] = self._loop.create_future()
        self._send(Question(number, what, facts), payload)
        try:
            return await asyncio.wait_for(waits, timeout)
        except TimeoutError:
            raise TunnelError(f"no answer within {timeout:.0f} s") from None
        finally:
            self._questions.pop(number, None)

    async def _watch(self) -> None:
        """Read the host's clock and load again and again, and notice that the host is lost."""
        answered = None
        while not self.lost:
            asked = time.monotonic()
            try:
                facts = {"since": len(self.load.busy)}
                answer = await self._ask("clock", facts, b"", PATIENCE)
            except TunnelError:
                if answered is not None:  # before, the conductor waits for an agent that starts
                    self._end(f"no answer for {time.monotonic() - answered:.0f} s")
                continue
            answered = time.monotonic()
            there = msgspec.convert(answer, _Reading)
            self.offset.heard(asked, there.now, answered)
            self.load.pressure += there.pressure
            self.load.busy += there.busy
            await asyncio.sleep(LOOK)

    def _broke(self, why: str) -> None:
        self._broken = time.monotonic(), why

    def _end(self, why: str) -> None:
        self.lost = self.lost or why
        self._streams.close()
        for waits in self._questions.values():
            if not waits.done():
                waits.set_exception(TunnelError(why))

    def _send(self, head: AnyTunnelHead, payload: bytes = b"") -> None:
        self._socket.send_multipart([encode(head), payload])


async def _itself(local: socket.socket) -> socket.socket:
    """Return the connection `local`, which is made already."""
    return local
