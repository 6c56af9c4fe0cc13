"""The socket of a running box: answers, owners, and peers that mean harm. No TAP is needed."""

import json
import os
import resource
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

import pytest

from emulator.errors import DeploymentError
from emulator.shaping.box.attachment import connect, report
from emulator.shaping.box.link_request import LARGEST_REQUEST, encode
from emulator.shaping.box.request_socket import RequestSocket
from emulator.world.links.link import Link
from tests.netem.box import PacketBox, packet_box
from tests.shaping.box.hostile_requests import HOSTILE


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
        assert "too long" in _ask(peer, b" " * (LARGEST_REQUEST + 5))["error"]
        assert "not JSON" in _ask(peer, b" " * LARGEST_REQUEST)["error"]


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


def test_every_hostile_request_is_answered_by_a_refusal(box: PacketBox) -> None:
    with connect(box.path) as peer:
        for packet in filter(None, HOSTILE):
            assert "error" in _ask(peer, packet)
    assert box.process.poll() is None


def test_a_request_that_raises_any_error_is_refused(tmp_path: Path) -> None:
    """No mistake of the box's own in serving a request ends the links of others."""

    class Broken:
        loop = Mock()

        def answer(self, *request: object) -> dict[str, Any]:
            raise ZeroDivisionError("a mistake")

    requests = RequestSocket(tmp_path / "box", cast(Any, Broken()), 1024)
    end, other = os.pipe()
    answer = requests._answer(encode("attach", "a", Link()), [end, other], 0, Mock())
    assert answer == {"error": "the request cannot be served: ZeroDivisionError: 'a mistake'"}
    for descriptor in (end, other):
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.close(descriptor)
    requests.close()


def test_a_box_without_descriptors_refuses_in_words_and_rests() -> None:
    with packet_box("--report-every", "0.1", files=40) as box:
        peers = [connect(box.path) for _ in range(60)]
        refusals = [_refusal(peer) for peer in peers]
        answered = [why for why in refusals if why.endswith("a is not attached")]
        refused = set(refusals) - set(answered)
        assert len(answered) > 20
        assert refused == {
            "the packet box refused: the box may open no more than 40 files, four for each link: "
            "raise the engine's limit of open files (nofile)"
        }
        before = _used(box)
        box.line("lateness")
        for _ in range(5):
            box.line("lateness")
        assert _used(box) - before < 0.25  # of half a second; a spinning box uses all of it
        for peer in peers:
            peer.close()
        _until(lambda: _descriptors(box) < 20)
        with connect(box.path) as peer:
            assert _refusal(peer).endswith("a is not attached")


def test_a_box_that_had_no_descriptor_left_accepts_again_within_a_second() -> None:
    """Others on the host may have used them all up, so that there is none to refuse with."""
    with packet_box("--report-every", "0.1") as box:
        soft, hard = resource.prlimit(box.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(box.process.pid, resource.RLIMIT_NOFILE, (3, hard))
        with connect(box.path) as peer:
            for _ in range(3):
                box.line("lateness")
            resource.prlimit(box.process.pid, resource.RLIMIT_NOFILE, (soft, hard))
            peer.settimeout(5.0)
            assert "a is not attached" in _ask(peer, encode("report", "a"))["error"]


def open_files() -> int:
    """Return the descriptors of this process, of whatever tests."""
    return len(os.listdir("/proc/self/fd"))


def test_a_box_raises_its_limit_of_open_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_files() + 64, hard))
    try:
        with packet_box() as box:
            assert resource.prlimit(box.process.pid, resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _refusal(peer: socket.socket) -> str:
    with pytest.raises(DeploymentError) as refused:
        report(peer, "a")
    return str(refused.value)


def _used(box: PacketBox) -> float:
    """Return the seconds of a core that the box has used."""
    words = Path(f"/proc/{box.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


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
