"""Ends that nobody wished for: they spare what is finished, and the next sweep goes on."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emulator.errors import DataError, EmulatorError, HostError
from emulator.sweep import Standing

from .made_up_play import CRASHES, HANGS, IS_ENDED, IS_SHOT, LACKS_DATA
from .made_up_sweeps import MADE_UP, Watching, file, made_up, played, rates

__all__ = ["file", "played"]


def until(condition: Callable[[], Any], seconds: float = 10) -> Any:
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def hanging(out: Path) -> int:
    """The process that plays a point which never ends; 0 if it does not yet."""
    return next((int(path.read_text() or 0) for path in out.glob(".playing/*/pid")), 0)


@pytest.mark.parametrize(
    "rate, kind, message",
    [
        (LACKS_DATA, DataError, "^digits is not here: run `make data`"),
        (CRASHES, EmulatorError, r"(?s)ended with code 1\n.*Traceback.*a bug of ours"),
        (IS_SHOT, EmulatorError, "was killed by signal 9"),
        (IS_ENDED, EmulatorError, "was canceled from outside"),
    ],
)
def test_an_error_ends_the_sweep(
    file: Path,
    tmp_path: Path,
    played: Callable[[], list[str]],
    rate: float,
    kind: type[Exception],
    message: str,
) -> None:
    out = tmp_path / "out"
    with pytest.raises(kind, match=message) as raised:
        made_up(rates(file, rate, 0.3), out, cores=1)
    notes = getattr(raised.value, "__notes__", [])
    assert f"training.learning_rate={rate:g},seed=4" in f"{raised.value} {notes}"
    assert [path.name for path in out.rglob("*=*")] == []
    assert not (out / ".playing").exists()
    assert "0.3 4" not in played()


@pytest.mark.slow
def test_an_error_spares_what_is_finished_and_ends_what_is_not(
    file: Path, tmp_path: Path, played: Callable[[], list[str]]
) -> None:
    out = tmp_path / "out"

    class Noting(Watching):
        def standing(self, now: Standing) -> None:
            pids.update(filter(None, [hanging(out)]))

    pids: set[int] = set()
    with pytest.raises(DataError):
        made_up(rates(file, 0.1, HANGS, LACKS_DATA), out, view=Noting())
    assert [path.name for path in (out / "points").iterdir()] == [
        "training.learning_rate=0.1,seed=4"
    ]
    assert len((out / "table.csv").read_text().splitlines()) == 2
    assert not any(map(alive, pids))


def test_nowhere_to_write(file: Path, tmp_path: Path) -> None:
    with pytest.raises(HostError, match="name another with --out"):
        made_up(rates(file, 0.1), file / "out")


SWEEPS = """
import sys
from pathlib import Path
from emulator.cancel import Canceled, canceling
from emulator.sweep import Grid, Quiet, sweep

points = Grid(Path(sys.argv[1]), over=["training.learning_rate=0.1,13,0.2"]).points()
try:
    with canceling():
        sweep(points, Path(sys.argv[2]), 1, Quiet(), command=[sys.executable, *sys.argv[3:]])
except Canceled:
    sys.exit(130)
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_however_it_ends_the_next_one_goes_on(
    file: Path, tmp_path: Path, played: Callable[[], list[str]], number: int
) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-c", SWEEPS, str(file), str(out), *MADE_UP[1:]]
    with subprocess.Popen(command, process_group=0) as conductor:
        pid = until(lambda: conductor.poll() is None and hanging(out))
        assert os.getpgid(pid) == pid  # Ctrl-C is the conductor's to hear, not the players'
        (os.kill if number == signal.SIGKILL else os.killpg)(conductor.pid, number)
        assert conductor.wait(10) in (130, -number)
    until(lambda: not alive(pid))
    assert [path.name for path in (out / "points").iterdir()] == [
        "training.learning_rate=0.1,seed=4"
    ]
    assert (out / ".playing").exists() == (number == signal.SIGKILL)
    made_up(rates(file, 0.1), out)
    assert played() == ["0.1 4"]
    assert not (out / ".playing").exists()
