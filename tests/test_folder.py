"""A run's folder: made at once or not at all, and found by any name it has."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from emulator import folder
from emulator.errors import EmulatorError, HostError


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
    one = folder.create("flaky", tmp_path)
    assert one.work.stat().st_mode & 0o777 == 0o700
    one.discard_work()
    one.discard_work()
    assert not one.work.exists()


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
    [("flakey", "did you mean 'flaky'"), ("abc124", "did you mean 'abc123'"), ("", "no run ''")],
)
def test_a_run_that_is_not_there(tmp_path: Path, name: str, hint: str) -> None:
    made(tmp_path)
    with pytest.raises(EmulatorError, match=hint):
        folder.find(name, tmp_path)


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


def test_a_conductor_is_known_while_it_lives(tmp_path: Path) -> None:
    path = made(tmp_path)
    assert folder.conductor(path) is None
    sleeper = "import time; time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", sleeper, "emulate", "run"]) as other:
        (path / "conductor.pid").write_text(str(other.pid))
        until = time.monotonic() + 10
        while folder.conductor(path) is None and time.monotonic() < until:
            time.sleep(0.01)  # a new process has no command line for a moment
        assert folder.conductor(path) == other.pid
        other.kill()
        other.wait()
        assert folder.conductor(path) is None


@pytest.mark.parametrize("pid", ["", "nonsense", "1", "999999999"])
def test_a_number_that_is_no_conductors(tmp_path: Path, pid: str) -> None:
    path = made(tmp_path)
    (path / "conductor.pid").write_text(pid)
    assert folder.conductor(path) is None


def test_taken_and_left(tmp_path: Path) -> None:
    one = folder.create("flaky", tmp_path)
    one.take()
    assert (one.path / "conductor.pid").read_text() == str(os.getpid())
    one.leave()
    one.leave()
    assert not (one.path / "conductor.pid").exists()
