"""What a forked worker takes on, as far as it can be seen without a container.

Containers with forked workers are in tests/containers/test_forked_workers.py.
"""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.node.forking import containment, fork_messages, fork_server
from emulator.node.forking.fork_messages import Fork, ForkedLine, RefusedLine
from emulator.node.part.part_process import Orphan
from emulator.node.reports import NO_REPORT

GROUPS = Path("/host-cgroup")


@pytest.mark.parametrize(
    "text, unified, files",
    [
        ("0::/docker/ab\n", "", ["docker/ab"]),
        ("0::/system.slice/docker-ab.scope\n", "", ["system.slice/docker-ab.scope"]),
        (
            "4:memory:/docker/ab\n2:cpu,cpuacct:/docker/ab\n1:name=systemd:/docker/ab\n"
            "0::/docker/ab\n",
            "unified",
            ["memory/docker/ab", "cpu,cpuacct/docker/ab", "systemd/docker/ab", "unified/docker/ab"],
        ),
        ("4:memory:/docker/ab\n0::/\n", "none", ["memory/docker/ab"]),
    ],
    ids=["version 2", "systemd", "both", "version 1"],
)
def test_a_process_moves_into_each_control_group(
    text: str,
    unified: str,
    files: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(containment, "GROUPS", tmp_path)
    if unified != "none":
        (tmp_path / unified).mkdir(exist_ok=True)
        (tmp_path / unified / "cgroup.procs").touch()
    found = list(containment._group_files(text))
    assert found == [tmp_path / file / "cgroup.procs" for file in files]


def test_a_process_of_another_container_is_refused() -> None:
    with pytest.raises(ValueError, match=f"process {os.getpid()} is not in container 0123abcd"):
        containment.Containment.of(os.getpid(), "0123abcd")


def test_an_order_that_nobody_answers_ends_the_fork_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A device would wait for its worker until the start has taken too long."""
    monkeypatch.setattr(fork_server.select, "select", lambda *files: None)
    monkeypatch.setattr(fork_server, "_serve_one", lambda: os._exit(3))
    with pytest.raises(SystemExit, match="an order was not served: exit code 3"):
        fork_server._serve()
    monkeypatch.setattr(fork_server, "_serve_one", lambda: os._exit(fork_server.NO_ORDER))
    assert fork_server._serve() is None


def test_lines_come_back_as_they_were_said() -> None:
    order = Fork("far", 7, "ab", 5, 6, 0)
    assert fork_messages.decode_order(fork_messages.encode(order)) == order
    for said in (ForkedLine("far", 7), RefusedLine("far", "no")):
        assert fork_messages.decode_line(fork_messages.encode(said)) == said


@pytest.mark.parametrize("line", ["", "a traceback", '{"fork": "forked", "node": "far"}', "[1]"])
def test_another_line_is_text(line: str) -> None:
    with pytest.raises(NO_REPORT):
        fork_messages.decode_line(line)


@pytest.fixture
def orphan() -> Iterator[int]:
    """The id of a process that the kernel has made a child of this one."""
    libc, subreaper = ctypes.CDLL(None), 36
    libc.prctl(subreaper, 1, 0, 0, 0)
    sleeps = (
        "import os, time; pid = os.fork(); print(pid) if pid else (os.close(1), time.sleep(60))"
    )
    try:
        born = subprocess.run([sys.executable, "-c", sleeps], stdout=subprocess.PIPE, check=True)
        pid = int(born.stdout)
    finally:
        libc.prctl(subreaper, 0, 0, 0, 0)
    yield pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def test_an_adopted_process_is_heard_of_and_ended_as_a_child(orphan: int) -> None:
    part = Orphan(orphan)
    assert part.poll() is None
    part.kill()
    assert part.wait() == part.poll() == -signal.SIGKILL
    part.send_signal(signal.SIGCONT)  # it is gone, and nobody else is signalled


def test_a_command_line_is_shown_cut_to_the_room_that_it_has() -> None:
    shows = (
        "from emulator.node.forking.kernel_calls import show_command_line as show;"
        "show(['python3', '-m', 'x' * {length}]); import time; print('ok', flush=True);"
        "time.sleep(60)"
    )
    for length in (3, 4000):
        process = subprocess.Popen(
            [sys.executable, "-c", shows.format(length=length)], stdout=subprocess.PIPE
        )
        assert process.stdout and process.stdout.readline()
        words = Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")
        process.kill()
        process.communicate()
        assert words[:2] == [b"python3", b"-m"] and set(words[2]) == {ord("x")}
        assert (len(words[2]) == length) == (length == 3)
