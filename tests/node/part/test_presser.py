"""The process that takes memory: it takes as much as it is told, and goes when it is told."""

import os
import signal
import time
from pathlib import Path

from emulator.node.control_group import memory_limit
from emulator.node.part.presser import Presser


def resident(pid: int) -> int:
    """The resident memory of a process, in bytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def child() -> int | None:
    """The child of this process, if it has one."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return int(children[0]) if children else None


def test_it_touches_the_memory_and_gives_it_back() -> None:
    presser = Presser()
    presser.take(48 << 20, os.getuid())
    until = time.monotonic() + 20
    while not presser.held():
        assert time.monotonic() < until
        time.sleep(0.01)
    pid = child()
    assert pid is not None
    assert resident(pid) >= 48 << 20
    presser.release()
    assert not Path(f"/proc/{pid}").exists()
    presser.release()  # nothing is left to release


def test_it_starts_anew_after_the_kernel_has_killed_it() -> None:
    presser = Presser()
    presser.keep()  # nothing was taken
    presser.take(1 << 20, os.getuid())
    first = child()
    assert first is not None
    presser.keep()
    assert child() == first
    os.kill(first, signal.SIGKILL)
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
    presser.keep()
    assert child() not in (None, first)
    presser.release()
    presser.keep()
    assert child() is None


def test_the_limit_of_a_container_is_read_in_both_versions(tmp_path: Path) -> None:
    assert memory_limit(tmp_path) is None
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text("268435456\n")
    assert memory_limit(tmp_path) == 256 << 20
    (tmp_path / "memory.max").write_text("max\n")
    assert memory_limit(tmp_path) == 256 << 20
    (tmp_path / "memory.max").write_text("134217728\n")
    assert memory_limit(tmp_path) == 128 << 20
