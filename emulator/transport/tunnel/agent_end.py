"""The agent's end of tunnels: it lets the owner of one key in, and serves streams and answers."""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import zmq
import zmq.asyncio

from ..router import Admission
from ..secrets import Keys
from .byte_streams import ByteStreams, Connect
from .tunnel_heads import LARGEST, AnyTunnelHead, NoReply, Open, Question, Reply, decode, encode

SILENCE = 12.0
"""Seconds without a message after which a conductor counts as dead, and its streams are closed."""

Answering = Callable[[str, dict[str, Any], bytes], dict[str, Any]]


class AgentEnd:
    """Serves the conductors that have the key: one, and no other after it but by a new one."""

    def __init__(self, address: str, keys: Keys, connect: Connect, answer: Answering) -> None:
        """Listen at `address`. `connect` opens a connection to the engine for a stream; `answer`
        returns the facts for a question, and raises a ValueError or an OSError with the reason if
        there are none."""
        self._connect, self._answer = connect, answer
        self._context = zmq.asyncio.Context()
        self._admission = Admission(zmq.Context.shadow(self._context.underlying), keys)
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.SNDHWM, 0)  # the streams bound what is under way
        self._socket.setsockopt(zmq.RCVHWM, 0)
        self._socket.setsockopt(zmq.MAXMSGSIZE, LARGEST)
        self._admission.require(self._socket)
        self._socket.bind(address)
        self._peers: dict[bytes, tuple[ByteStreams, float]] = {}
        self.heard = time.monotonic()
        """Time of the last message."""

    async def serve(self) -> None:
        """Serve until the task is cancelled."""
        watch = asyncio.ensure_future(self._watch())
        try:
            while True:
                peer, head, payload = await self._socket.recv_multipart()
                self._take(peer, decode(head), payload)
        finally:
            watch.cancel()
            for streams, _ in self._peers.values():
                await streams.closed()
            self._socket.close()
            self._admission.stop()
            self._context.term()

    def _take(self, peer: bytes, head: AnyTunnelHead, payload: bytes) -> None:
        self.heard = time.monotonic()
        streams, _ = self._peers.get(peer, (None, 0.0))
        if streams is None:
            send = partial(self._send, peer)
            streams = ByteStreams(send, lambda why: print(f"a stream ended: {why}", flush=True))
        self._peers[peer] = streams, self.heard
        match head:
            case Question(number, what, facts):
                self._send(peer, self._answered(number, what, facts, payload))
            case Reply() | NoReply():
                pass  # an agent asks nothing
            case Open(number):
                streams.begin(number, self._connect)
            case _:
                streams.take(head, payload)

    def _answered(
        self, number: int, what: str, facts: dict[str, Any], payload: bytes
    ) -> Reply | NoReply:
        try:
            return Reply(number, self._answer(what, facts, payload))
        except (OSError, ValueError) as error:
            return NoReply(number, str(error))

    def _send(self, peer: bytes, head: AnyTunnelHead, payload: bytes = b"") -> None:
        self._socket.send_multipart([peer, encode(head), payload])

    async def _watch(self) -> None:
        """Close the streams of a peer that is silent."""
        while True:
            await asyncio.sleep(1.0)
            now = time.monotonic()
            for peer, (streams, heard) in [*self._peers.items()]:
                if now - heard > SILENCE:
                    streams.close()
                    del self._peers[peer]
