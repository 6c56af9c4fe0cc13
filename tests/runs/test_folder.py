"""A run's folder: made at once or not at all, and found by any name it has."""

import errno
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from emulator.errors import EmulatorError, HostError
from emulator.machine import lock
from emulator.runs import folder


def made(runs: Path, scenario: str = "flaky", started: str = "20250101T120000Z-abc123") -> Path:
    path = runs / scenario / started
    path.mkdir(parents=True)
    (path / "scenario.yaml").write_text("name: made-up\n")
    return path


# -- creating --------------------------------------------------------------------------------------


def test_a_new_folder_is_the_latest(tmp_path: Path) -> None:
    first = folder.create("flaky", tmp_path)
    second = folder.create("flaky", tmp_path)
    assert first.path != second.path
    assert first.path.name.endswith(f"-{first.run}")
    assert (tmp_path / "flaky" / "latest").resolve() == second.path
    assert second.devices.is_dir()
    assert [path.name for path in second.path.parent.glob(".*")] == []


def test_what_holds_secrets_is_for_nobody_else_and_goes(tmp_path: Path) -> None:
    item = folder.create("flaky", tmp_path)
    assert item.work.stat().st_mode & 0o777 == 0o700
    item.discard_work()
    item.discard_work()
    assert not item.work.exists()


@pytest.mark.parametrize("runs", ["file", "file/below"])
def test_where_nothing_can_be_written(tmp_path: Path, runs: str) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(HostError, match=r"cannot write the run folder .*: Not a directory.*--runs"):
        folder.create("flaky", tmp_path / runs)


# -- finding ---------------------------------------------------------------------------------------


def test_a_run_has_many_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = tmp_path / "runs"
    older = made(runs)
    newer = made(runs, started="20250102T120000Z-def456")
    (runs / "flaky" / "latest").symlink_to(newer.name)
    monkeypatch.chdir(tmp_path)
    for name in ("flaky", "flaky/latest", "def456", newer.name, f"flaky/{newer.name}"):
        assert folder.find(name, runs) == newer
    for name in ("abc123", str(older), f"runs/flaky/{older.name}"):
        assert folder.find(name, runs) == older
    assert folder.find("runs/flaky", runs) == newer


@pytest.mark.parametrize(
    "name, hint",
    [
        ("flakey", "did you mean 'flaky'"),
        ("flaky.yaml", "did you mean 'flaky'"),
        ("abc124", "did you mean 'abc123'"),
        ("", "no run ''"),
    ],
)
def test_a_run_that_is_not_there(tmp_path: Path, name: str, hint: str) -> None:
    made(tmp_path)
    with pytest.raises(EmulatorError, match=hint):
        folder.find(name, tmp_path)


def test_a_folder_in_which_no_run_began_hides_no_earlier_run(tmp_path: Path) -> None:
    made(tmp_path)
    newer = made(tmp_path, started="20250102T120000Z-def456")
    folder.create("flaky", tmp_path)
    assert folder.find("flaky", tmp_path) == newer


def test_two_runs_of_one_id_are_not_guessed_at(tmp_path: Path) -> None:
    made(tmp_path)
    made(tmp_path, scenario="other")
    with pytest.raises(EmulatorError, match="abc123"):
        folder.find("abc123", tmp_path)


def test_runs_in_the_order_in_which_they_began(tmp_path: Path) -> None:
    late, early = made(tmp_path, started="20250202T000000Z-aaaaaa"), made(tmp_path, "zero")
    (tmp_path / "flaky" / "latest").symlink_to(late.name)
    (tmp_path / "flaky" / "no-run").mkdir()
    assert folder.folders(tmp_path) == [early, late]
    assert folder.folders(tmp_path / "nowhere") == []


# -- who conducts it -------------------------------------------------------------------------------


CONDUCTOR = """
import pathlib, sys, time
from emulator.runs.folder import RunFolder
with RunFolder(pathlib.Path(sys.argv[1]), "abc123").taken():
    print("taken", flush=True)
    time.sleep(60)
"""


@contextmanager
def conducted(path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that conducts the run in `path`; killed in the end."""
    command = [sys.executable, "-c", CONDUCTOR, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"taken\n"
        yield process
        process.kill()


def test_a_conductor_is_known_while_it_lives(tmp_path: Path) -> None:
    path = made(tmp_path)
    assert folder.conductor(path) is None
    with conducted(path) as other:
        assert folder.conductor(path) == other.pid
        other.kill()
        other.wait()
        assert (path / "conductor.pid").exists()
        assert folder.conductor(path) is None


def test_a_stranger_with_the_number_of_a_dead_conductor(tmp_path: Path) -> None:
    path = made(tmp_path)
    with subprocess.Popen(["sh", "-c", "read end", "emulate"], stdin=subprocess.PIPE) as stranger:
        (path / "conductor.pid").write_text(str(stranger.pid))
        time.sleep(0.2)  # a new process has no command line for a moment
        assert folder.conductor(path) is None
        stranger.kill()


def test_a_folder_keeps_its_conductor_where_it_is_moved(tmp_path: Path) -> None:
    path = made(tmp_path)
    with conducted(path) as other:
        moved = path.rename(path.with_name("20250101T120000Z-moved"))
        assert folder.conductor(moved) == other.pid
        assert folder.conductor(path) is None


@pytest.mark.parametrize("pid", ["", "nonsense", "1", "999999999"])
def test_a_number_that_is_no_conductors(tmp_path: Path, pid: str) -> None:
    path = made(tmp_path)
    (path / "conductor.pid").write_text(pid)
    assert folder.conductor(path) is None


def test_taken_and_left(tmp_path: Path) -> None:
    item = folder.create("flaky", tmp_path)
    with item.taken():
        assert folder.conductor(item.path) == os.getpid()
    assert folder.conductor(item.path) is None
    assert not (item.path / "conductor.pid").exists()


def test_where_no_lock_can_be_written(tmp_path: Path) -> None:
    words = r"cannot write the lock .*nowhere: No such file"
    with pytest.raises(HostError, match=words), lock.held(tmp_path / "not" / "nowhere"):
        raise AssertionError("unreachable")


def test_where_no_byte_of_a_lock_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*anything: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(lock.os, "pwrite", refuse)
    words = r"cannot write the lock .*lock: No space left"
    with pytest.raises(HostError, match=words), lock.held(tmp_path / "lock"):
        raise AssertionError("unreachable")


def test_where_files_have_no_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*anything: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(lock.fcntl, "flock", refuse)
    words = r"the file system of .*/lock has no locks: Function not"
    with pytest.raises(HostError, match=words), lock.held(tmp_path / "lock"):
        raise AssertionError("unreachable")
    assert not (tmp_path / "lock").exists()
