"""A tunnel between two ends in one process: streams, questions, strangers, silence, clocks."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import zmq
from hypothesis import given
from hypothesis import strategies as st

from emulator.transport.router import Admission
from emulator.transport.secrets import KeyPair, Keys, issue
from emulator.transport.tunnel import agent_end, byte_streams, conductor_end
from emulator.transport.tunnel.agent_end import AgentEnd, Answering
from emulator.transport.tunnel.clock_offset import ClockOffset
from emulator.transport.tunnel.conductor_end import Tunnel, TunnelError
from emulator.transport.tunnel.tunnel_heads import Close, Data, Taken, encode

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]


def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def keys() -> tuple[Keys, KeyPair]:
    guests, secrets = issue(["conductor"], encrypt=True)
    pair = secrets["conductor"]
    assert isinstance(guests, Keys)
    assert isinstance(pair, KeyPair)
    return guests, pair


def answer(what: str, facts: dict[str, Any], payload: bytes) -> dict[str, Any]:
    if what == "clock":
        return {"now": time.monotonic() + 1000.0}
    if what == "size":
        return {**facts, "size": len(payload)}
    raise ValueError(f"no answer to {what!r}")


@contextmanager
def agent(
    address: str, guests: Keys, engine: Path, serve: Serve, answer: Answering = answer
) -> Iterator[Callable[[], None]]:
    """Run an agent that leads to an engine at the socket `engine`; yield what kills it."""
    loop, begun = asyncio.new_event_loop(), threading.Event()
    tasks: list[asyncio.Task[None]] = []

    async def connect() -> socket.socket:
        return await byte_streams.connected(engine)

    async def run() -> None:
        server = await asyncio.start_unix_server(serve, engine)
        end = AgentEnd(address, guests, connect, answer)
        tasks.append(asyncio.ensure_future(end.serve()))
        begun.set()
        with suppress(asyncio.CancelledError):
            await tasks[0]
        server.close()
        await asyncio.sleep(0.1)  # cancelled streams close their connections

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()))
    thread.start()
    begun.wait()

    def kill() -> None:
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(tasks[0].cancel)
        thread.join()

    try:
        yield kill
    finally:
        kill()
        loop.close()


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send back what comes, and a last word once the other end has shut its direction."""
    while data := await reader.read(4096):
        writer.write(data)
        await writer.drain()
    writer.write(b"over")
    writer.close()


@contextmanager
def both(tmp_path: Path, serve: Serve = echo) -> Iterator[tuple[Tunnel, Callable[[], None]]]:
    """Yield a tunnel, and what kills its agent."""
    guests, pair = keys()
    address = f"tcp://127.0.0.1:{port()}"
    with agent(address, guests, tmp_path / "engine", serve) as kill:
        tunnel = Tunnel(address, pair, tmp_path / "local")
        try:
            tunnel.ask("size")  # the connection is up
            yield tunnel, kill
        finally:
            tunnel.close()


def dial(tunnel: Tunnel) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(20.0)
    connection.connect(str(tunnel.path))
    return connection


def read_all(connection: socket.socket) -> bytes:
    parts = []
    while data := connection.recv(65536):
        parts.append(data)
    return b"".join(parts)


def test_a_stream_comes_back_whole_though_it_is_larger_than_its_window(tmp_path: Path) -> None:
    sent = bytes(range(256)) * (3 * byte_streams.WINDOW // 256)
    with both(tmp_path) as (tunnel, _), closing(dial(tunnel)) as connection:
        writer = threading.Thread(
            target=lambda: (connection.sendall(sent), connection.shutdown(socket.SHUT_WR))
        )
        writer.start()
        assert read_all(connection) == sent + b"over"
        writer.join()


def test_the_last_pieces_of_a_stream_that_has_ended_there_are_taken_in_peace() -> None:
    """A close in answer would end the stream here before they are passed on."""
    sent: list[Any] = []
    streams = byte_streams.ByteStreams(lambda head, payload: sent.append(head), sent.append)
    streams.take(Taken(7, 65536), b"")
    assert sent == []
    streams.take(Data(7), b"of a stream that an agent knew before it was started anew")
    assert sent == [Close(7)]


def test_a_stream_that_nobody_reads_holds_up_no_other(tmp_path: Path) -> None:
    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.readline() == b"flood\n":
            with suppress(OSError):
                while True:
                    writer.write(b"x" * 65536)
                    await writer.drain()
        writer.write(b"word")
        writer.close()

    with (
        both(tmp_path, flood) as (tunnel, _),
        closing(dial(tunnel)) as full,
        closing(dial(tunnel)) as other,
    ):
        full.sendall(b"flood\n")
        time.sleep(0.5)  # far more than a window would have come
        other.sendall(b"\n")
        assert read_all(other) == b"word"


BLOCK = b"x" * 65536


def write_until_refused(connection: socket.socket) -> int:
    """Write to `connection` until nobody reads there; return the number of bytes."""
    count = 0
    with suppress(BrokenPipeError, ConnectionResetError):
        while True:
            connection.sendall(BLOCK)
            count += len(BLOCK)
    return count


def test_what_was_said_before_the_reader_left_still_arrives(tmp_path: Path) -> None:
    """As an engine refuses a large request before it has read all of it: the reason must come."""
    said = bytes(range(256)) * (2 * byte_streams.WINDOW // 256)

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(10)
        local: socket.socket = writer.get_extra_info("socket").dup()
        local.shutdown(socket.SHUT_RD)  # from here on each write to it is refused
        writer.write(said)
        await writer.drain()
        writer.close()
        local.close()

    with both(tmp_path, refuse) as (tunnel, _), closing(dial(tunnel)) as connection:
        connection.sendall(BLOCK)
        assert write_until_refused(connection) < 3 * byte_streams.WINDOW
        assert read_all(connection) == said
        assert tunnel.broken(0.0) == ""


@pytest.mark.slow
def test_a_conductor_that_reads_no_more_is_still_heard(tmp_path: Path) -> None:
    heard, refused = list[int](), threading.Event()

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while True:
                writer.write(BLOCK)
                await writer.drain()
        refused.set()
        # a StreamReader whose transport cannot write any more reads no more either
        writer.close()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(len(await reader.read(1)))
        writer.write(b"unwanted")
        await writer.drain()
        while data := await reader.read(65536):
            heard.append(len(data))
        refused.set()
        writer.close()

    with both(tmp_path, listen) as (tunnel, _), closing(dial(tunnel)) as connection:
        connection.shutdown(socket.SHUT_RD)
        connection.sendall(b"1")
        time.sleep(0.3)  # the unwanted word comes, and cannot be passed on
        connection.sendall(b"x" * 1000)
        connection.shutdown(socket.SHUT_WR)
        assert refused.wait(10.0)
        assert sum(heard) == 1001
    del heard[:]
    refused.clear()
    (tmp_path / "other").mkdir()
    with both(tmp_path / "other", flood) as (tunnel, _), closing(dial(tunnel)) as connection:
        connection.shutdown(socket.SHUT_RD)
        assert refused.wait(10.0)


def test_an_error_ends_both_directions_and_its_reason_is_known(tmp_path: Path) -> None:
    with both(tmp_path) as (tunnel, _):
        with closing(dial(tunnel)) as before:
            before.sendall(b"a")
            assert before.recv(1) == b"a"
        (tmp_path / "engine").unlink()
        now = time.monotonic()
        with closing(dial(tunnel)) as connection:
            assert read_all(connection) == b""
        assert "No such file or directory" in tunnel.broken(now)
        assert tunnel.broken(time.monotonic() + 1.0) == ""
        assert tunnel.lost == ""
    sent: list[Any] = []
    asyncio.run(broken_stream(tmp_path / "none", sent))
    assert sent == ["[Errno 2] No such file or directory", Close(3, sent[0])]


async def broken_stream(nothing: Path, sent: list[Any]) -> None:
    """Begin a stream to a socket that is not there; note what is said of it in `sent`."""
    streams = byte_streams.ByteStreams(lambda head, payload: sent.append(head), sent.append)
    streams.begin(3, lambda: byte_streams.connected(nothing))
    await asyncio.sleep(0.1)


def test_an_answer_has_the_facts_and_a_refusal_the_reason(tmp_path: Path) -> None:
    with both(tmp_path) as (tunnel, _):
        assert tunnel.ask("size", b"12345", of="it") == {"of": "it", "size": 5}
        with pytest.raises(TunnelError, match="no answer to 'other'"):
            tunnel.ask("other")


def test_the_clock_of_the_host_is_known(tmp_path: Path) -> None:
    with both(tmp_path) as (tunnel, _):
        until = time.monotonic() + 10.0
        while tunnel.offset.uncertainty == float("inf"):
            assert time.monotonic() < until
            time.sleep(0.01)
        assert abs(tunnel.offset.seconds - 1000.0) <= tunnel.offset.uncertainty < 1.0


@pytest.mark.slow
def test_a_stranger_is_not_let_in(tmp_path: Path) -> None:
    guests, pair = keys()
    _, other = keys()
    address = f"tcp://127.0.0.1:{port()}"
    stranger = KeyPair(other.public, other.private, pair.server)
    with agent(address, guests, tmp_path / "engine", echo):
        tunnel = Tunnel(address, stranger, tmp_path / "local")
        with pytest.raises(TunnelError, match="no answer within"):
            tunnel.ask("size", timeout=1.0)
        with closing(dial(tunnel)) as connection:
            connection.settimeout(0.5)
            connection.sendall(b"let me in")
            with pytest.raises(TimeoutError):
                connection.recv(1)
        tunnel.close()


@pytest.mark.slow
def test_an_agent_with_another_key_gets_nothing(tmp_path: Path) -> None:
    guests, pair = keys()
    impostor, _ = keys()
    address = f"tcp://127.0.0.1:{port()}"
    with agent(address, Keys(impostor.private, guests.names), tmp_path / "engine", echo):
        tunnel = Tunnel(address, pair, tmp_path / "local")
        with pytest.raises(TunnelError, match="no answer within"):
            tunnel.ask("size", timeout=1.0)
        tunnel.close()


WRONG_CLOCKS: list[Any] = [
    {},
    {"now": "noon"},
    {"now": float("nan")},
    {"now": 1.0, "busy": ["all"], "pressure": [None]},
    {"now": 1.0, "busy": [0.5, 0.5], "pressure": [None]},
    {"now": 1.0, "busy": [float("inf")], "pressure": [None]},
]


@pytest.mark.parametrize("clock", WRONG_CLOCKS, ids=str)
def test_a_host_whose_agent_answers_wrongly_is_lost(tmp_path: Path, clock: dict[str, Any]) -> None:
    """A wrong clock would move the times of records and faults, without a word."""
    guests, pair = keys()
    address = f"tcp://127.0.0.1:{port()}"

    def wrong(what: str, facts: dict[str, Any], payload: bytes) -> dict[str, Any]:
        return clock if what == "clock" else {}

    with agent(address, guests, tmp_path / "engine", echo, wrong):
        lost(Tunnel(address, pair, tmp_path / "local"))


def lost(tunnel: Tunnel) -> None:
    """Wait until `tunnel` is lost, as its agent answers wrongly, and close it."""
    until = time.monotonic() + 10.0
    while not tunnel.lost:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert tunnel.lost.startswith("its agent answers wrongly")
    with pytest.raises(TunnelError, match="answers wrongly"):
        tunnel.ask("size")
    tunnel.close()


@pytest.mark.parametrize(
    "frames",
    [[b"only one"], [b"", b""], [b"\xc1", b""], [b"\x80", b""], [b"", b"", b""], [encode(7), b""]],
    ids=str,
)
def test_a_host_whose_agent_sends_nonsense_is_lost(tmp_path: Path, frames: list[bytes]) -> None:
    guests, pair = keys()
    context = zmq.Context()
    admission = Admission(context, guests)
    socket = context.socket(zmq.ROUTER)
    admission.require(socket)
    number = socket.bind_to_random_port("tcp://127.0.0.1")
    tunnel = Tunnel(f"tcp://127.0.0.1:{number}", pair, tmp_path / "local")
    try:
        peer, *_ = socket.recv_multipart()
        socket.send_multipart([peer, *frames])
        lost(tunnel)
    finally:
        socket.close()
        admission.stop()
        context.term()


@pytest.mark.slow
def test_the_streams_of_a_dead_agent_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conductor_end, "PATIENCE", 0.5)
    with both(tmp_path) as (tunnel, kill), closing(dial(tunnel)) as connection:
        connection.sendall(b"a")
        assert connection.recv(1) == b"a"
        kill()
        assert read_all(connection) == b""
        until = time.monotonic() + 10.0
        while "no answer" not in tunnel.lost:
            assert time.monotonic() < until
            time.sleep(0.01)
        with pytest.raises(TunnelError):
            tunnel.ask("size")


@pytest.mark.slow
def test_the_streams_of_a_silent_conductor_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an engine must close the standard input of containers whose conductor's host is gone."""
    monkeypatch.setattr(agent_end, "SILENCE", 0.5)
    monkeypatch.setattr(conductor_end, "LOOK", 60.0)
    ended = threading.Event()

    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        ended.set()
        writer.close()

    with both(tmp_path, wait) as (tunnel, _), closing(dial(tunnel)) as connection:
        connection.sendall(b"a")
        assert ended.wait(10.0)


offsets = st.floats(-1e6, 1e6)
ways = st.floats(1e-5, 1.0)


@given(offset=offsets, samples=st.lists(st.tuples(ways, ways), min_size=1, max_size=50))
def test_the_offset_is_wrong_by_no_more_than_it_says(
    offset: float, samples: list[tuple[float, float]]
) -> None:
    """Whatever the two ways of a question take, as long as the clocks run alike."""
    clock, now = ClockOffset(), 0.0
    for there, back in samples:
        clock.heard(now, now + there + offset, now + there + back)
        now += 1.0 + there + back
        assert abs(clock.seconds - offset) <= clock.uncertainty + 1e-9 * (abs(offset) + now)
    assert clock.uncertainty < float("inf")
