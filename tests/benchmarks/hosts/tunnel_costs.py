"""A tunnel between two processes of this machine, and greetings at one socket, all encrypted."""

import asyncio
import multiprocessing
import socket
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import zmq

from emulator.core import wire
from emulator.core.wire.messages import Hello
from emulator.transport.router import Admission
from emulator.transport.secrets import AllowList, KeyPair, Keys, issue
from emulator.transport.tunnel.agent_end import AgentEnd
from emulator.transport.tunnel.byte_streams import connected
from emulator.transport.tunnel.conductor_end import Tunnel

_spawn = multiprocessing.get_context("spawn")


def measure(megabytes: int = 256, questions: int = 300, idle: float = 4.0) -> dict[str, float]:
    """Return the costs of a tunnel: `stream_mb`, megabytes a second of one stream, and
    `stream_ms`, of the conductor's processor for a megabyte; `question_ms`, from question to
    answer; `agent_ms`, of the conductor's processor for a host and second without any work."""
    guests, pairs = issue(["conductor"], encrypt=True)
    pair = pairs["conductor"]
    assert isinstance(guests, Keys)
    assert isinstance(pair, KeyPair)
    address = f"tcp://127.0.0.1:{_free_port()}"
    with tempfile.TemporaryDirectory() as folder:
        engine, local = Path(folder) / "engine", Path(folder) / "local"
        agent = _spawn.Process(target=_agent, args=(address, guests, engine), daemon=True)
        agent.start()
        tunnel = Tunnel(address, pair, local)
        try:
            tunnel.ask("clock")  # the connection is up
            return {
                "question_ms": 1e3 * median(_question(tunnel) for _ in range(questions)),
                **_stream(tunnel, megabytes),
                "agent_ms": _idle(idle),
            }
        finally:
            tunnel.close()
            agent.terminate()
            agent.join()


def _question(tunnel: Tunnel) -> float:
    began = time.perf_counter()
    tunnel.ask("clock")
    return time.perf_counter() - began


def _stream(tunnel: Tunnel, megabytes: int) -> dict[str, float]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(tunnel.path))
        began, busy, came = time.perf_counter(), time.process_time(), 0
        connection.sendall(str(megabytes).encode() + b"\n")
        while data := connection.recv(1 << 20):
            came += len(data)
        took, busy = time.perf_counter() - began, time.process_time() - busy
    assert came == megabytes * 10**6
    return {"stream_mb": megabytes / took, "stream_ms": 1e3 * busy / megabytes}


def _idle(seconds: float) -> float:
    began = time.process_time()
    time.sleep(seconds)
    return 1e3 * (time.process_time() - began) / seconds


def _agent(address: str, guests: AllowList, engine: Path) -> None:
    assert isinstance(guests, Keys)
    asyncio.run(_serve(address, guests, engine))


async def _serve(address: str, guests: Keys, engine: Path) -> None:
    await asyncio.start_unix_server(_send_megabytes, engine)
    await AgentEnd(address, guests, partial(connected, engine), _answer).serve()


async def _send_megabytes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Play an engine: send as many megabytes as the first line says."""
    megabyte = bytes(10**6)
    for _ in range(int(await reader.readline())):
        writer.write(megabyte)
        await writer.drain()
    writer.close()


def _answer(what: str, facts: dict[str, Any], payload: bytes) -> dict[str, Any]:
    return {"now": time.monotonic()}


def hellos(peers: int = 200) -> dict[str, float]:
    """Return `hello_frames_bytes`, those of a hello as packed, and `hello_ms`, of the server's
    processor for a connection with its handshake and hello, of `peers` devices that come at
    once."""
    names = [f"device-{number}" for number in range(peers)]
    guests, pairs = issue(names, encrypt=True)
    with zmq.Context() as context, context.socket(zmq.ROUTER) as router:
        admission = Admission(context, guests)
        admission.require(router)
        router.bind("tcp://127.0.0.1:*")
        address = router.getsockopt_string(zmq.LAST_ENDPOINT)
        fleet = _spawn.Process(target=_greet, args=(address, pairs), daemon=True)
        fleet.start()
        try:
            router.recv_multipart()
            # the first has come: the others' process is up, and the clock runs for the rest
            began = time.process_time()
            for _ in names[1:]:
                router.recv_multipart()
            took = time.process_time() - began
        finally:
            fleet.terminate()
            fleet.join()
            admission.stop()
    size = sum(memoryview(part).nbytes for part in wire.pack(Hello("device-000001", 0)))
    return {"hello_frames_bytes": size, "hello_ms": 1e3 * took / (peers - 1)}


def _greet(address: str, pairs: dict[str, KeyPair]) -> None:
    context = zmq.Context()
    context.set(zmq.MAX_SOCKETS, 2 * len(pairs) + 16)
    peers = []
    for name, pair in pairs.items():
        peer = context.socket(zmq.DEALER)
        peer.curve_publickey, peer.curve_secretkey = pair.public.encode(), pair.private.encode()
        peer.curve_serverkey = pair.server.encode()
        peer.connect(address)
        peer.send_multipart(wire.pack(Hello(name, 0)))
        peers.append(peer)
        # one behind the other: the first greeting must not be the last
        time.sleep(0.002)
    time.sleep(600)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
