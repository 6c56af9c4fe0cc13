"""The socket of a running box: answers, owners, and peers that mean harm. No TAP is needed."""

import json
import os
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from emulator.errors import DeploymentError
from emulator.shaping.box.attachment import connect, report
from emulator.shaping.box.link_request import LARGEST, encode
from emulator.world.link import Link
from tests.netem.box import PacketBox, packet_box


@pytest.fixture(scope="module")
def box() -> Iterator[PacketBox]:
    with packet_box("--report-every", "0.1") as box:
        yield box


def _ask(peer: socket.socket, request: bytes, ends: list[int] | None = None) -> dict[str, Any]:
    socket.send_fds(peer, [request], ends or [])
    answer: dict[str, Any] = json.loads(peer.recv(65536))
    return answer


def test_unknown_links_are_refused(box: PacketBox) -> None:
    with connect(box.path) as peer:
        for do in ("change", "report", "detach"):
            link = Link() if do == "change" else None
            assert _ask(peer, encode(do, "a", link)) == {"error": "a is not attached"}
        with pytest.raises(DeploymentError, match="the packet box refused: a is not attached"):
            report(peer, "a")


@pytest.mark.parametrize("number", [0, 1, 2, 3, 4, 200])
def test_descriptors_that_are_no_taps_are_refused_and_closed(box: PacketBox, number: int) -> None:
    before = _descriptors(box)
    with connect(box.path) as peer, open(os.devnull) as null:
        answer = _ask(peer, encode("attach", "a", Link()), [null.fileno()] * number)
        assert "two TAP devices" in answer["error"] or "too many" in answer["error"]
        assert "a is not attached" in _ask(peer, encode("report", "a"))["error"]
    _until(lambda: _descriptors(box) <= before)


def test_descriptors_with_another_request_are_closed(box: PacketBox) -> None:
    before = _descriptors(box)
    with connect(box.path) as peer, open(os.devnull) as null:
        assert "takes no" in _ask(peer, encode("report", "a"), [null.fileno()])["error"]
        assert "not JSON" in _ask(peer, b"{", [null.fileno()])["error"]
    _until(lambda: _descriptors(box) <= before)


def test_a_request_that_is_too_long_is_refused(box: PacketBox) -> None:
    with connect(box.path) as peer:
        assert "too long" in _ask(peer, b" " * (LARGEST + 5))["error"]
        assert "not JSON" in _ask(peer, b" " * LARGEST)["error"]


def test_a_peer_that_reads_no_answers_is_left(box: PacketBox) -> None:
    with connect(box.path) as peer:
        peer.settimeout(2.0)
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            for _ in range(100_000):
                peer.send(b"{")


def test_the_box_outlives_all_of_them(box: PacketBox) -> None:
    peers = [connect(box.path) for _ in range(200)]
    for peer in peers:
        peer.send(b"\0" * 100)
        peer.close()
    box.line("lateness")
    assert box.line("lateness")["links"] == 0
    with connect(box.path) as peer:
        assert "error" in _ask(peer, encode("report", "a"))


def test_no_box_is_named() -> None:
    with pytest.raises(DeploymentError, match="no packet box at /nowhere/box: No such file"):
        connect("/nowhere/box")


def _descriptors(box: PacketBox) -> int:
    return len(os.listdir(f"/proc/{box.process.pid}/fd"))


def _until(condition: Any) -> None:
    end = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
