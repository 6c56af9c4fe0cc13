"""A lock's file names its holder, whatever stood in the file and whoever waits for it."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from emulator.errors import HostError
from emulator.machine import lock

STALE = ["", "1", "154723", "99999999999999999999999999999999", "nonsense\n12", "12\n34\n"]

OTHER = """
import pathlib, sys
from emulator.machine import lock
print("runs", flush=True)
with lock.held(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def another(path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that waits for the lock at `path` and holds it; killed at the end of the block."""
    command = [sys.executable, "-c", OTHER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"runs\n"
        try:
            yield process
        finally:  # it may wait for a lock that a failed test still holds
            process.kill()


def alone(path: Path) -> AbstractContextManager[None]:
    return lock.held_alone(path, "taken")


@pytest.mark.parametrize("stale", STALE)
def test_the_holder_is_named_whatever_a_dead_process_left(tmp_path: Path, stale: str) -> None:
    path = tmp_path / "lock"
    for taken in (lock.held, alone):
        path.write_text(stale)
        assert lock.holder(path) is None
        with taken(path):
            assert lock.holder(path) == os.getpid()
        assert not path.exists()


def test_a_process_that_waits_does_not_rename_the_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with lock.held(path):
        with another(path) as waiting:
            time.sleep(0.1)
            assert lock.holder(path) == os.getpid()
            waiting.kill()
            waiting.wait()
        assert lock.holder(path) == os.getpid()


def test_the_process_that_waited_is_named_when_its_turn_comes(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with lock.held(path):
        process = another(path)
        waiting = process.__enter__()
        time.sleep(0.1)
    assert waiting.stdout
    assert waiting.stdout.readline() == b"held\n"
    assert lock.holder(path) == waiting.pid
    with pytest.raises(HostError, match="taken by another process"), alone(path):
        raise AssertionError("unreachable")
    assert lock.holder(path) == waiting.pid
    process.__exit__(None, None, None)


def test_a_link_in_the_place_of_a_lock_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "lock").symlink_to("precious")
    for taken in (lock.held, alone):
        with pytest.raises(HostError, match="cannot write the lock"), taken(tmp_path / "lock"):
            raise AssertionError("unreachable")
    assert (tmp_path / "precious").read_text() == "mine"
