"""Sweeps that are interrupted: finished points are kept, and the next sweep goes on."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from emulator.errors import DataError, EmulatorError, HostError
from emulator.sweeps import Standing
from emulator.sweeps.deciding_code import deciding_code
from emulator.sweeps.point_note import NOTE
from tests.fakes.sweeps.made_up_play import CRASHES, HANGS, IS_ENDED, IS_SHOT, LACKS_DATA
from tests.fakes.sweeps.made_up_sweeps import MADE_UP, Watching, made_up, rates
from tests.sweeps.awaited import alive, until


def hanging(out: Path) -> int:
    """The process that plays a point which never ends; 0 if it does not yet."""
    return next((int(path.read_text() or 0) for path in out.glob(".playing/*/pid")), 0)


DAMAGE: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "an empty note": (NOTE, lambda content: b""),
    "half a note": (NOTE, lambda content: content[: len(content) // 2]),
    "a list for a note": (NOTE, lambda content: b"[]"),
    "a mistyped fact": (
        NOTE,
        lambda content: content.replace(b'"updates": 40', b'"updates": "40"'),
    ),
    "no facts": (NOTE, lambda content: content.replace(b'"facts"', b'"fact"')),
    "another log": ("run.jsonl", lambda content: content.replace(b"fiber", b"fibre", 1)),
    "an empty summary": ("summary.json", lambda content: b""),
}


QUICK = ("another log",)


@pytest.mark.slow
@pytest.mark.parametrize(
    "file_name, damage",
    [
        pytest.param(*case, id=name, marks=() if name in QUICK else pytest.mark.slow)
        for name, case in DAMAGE.items()
    ],
)
def test_a_damaged_point_is_played_again_with_a_word(
    sweep_file: Path,
    tmp_path: Path,
    played: Callable[[], list[str]],
    capsys: pytest.CaptureFixture[str],
    file_name: str,
    damage: Callable[[bytes], bytes],
) -> None:
    out, points = tmp_path / "out", rates(sweep_file, 0.1, 0.2)
    first = made_up(points, out)
    assert made_up(points, out) == first
    assert (played(), capsys.readouterr().err) == (["0.1 4", "0.2 4"], "")
    damaged = first[0].folder / file_name
    sound = damaged.read_bytes()
    damaged.write_bytes(damage(sound))
    assert damaged.read_bytes() != sound
    assert made_up(points, out) == first
    assert played() == ["0.1 4", "0.1 4", "0.2 4"]
    aside = out / "damaged" / first[0].folder.name
    assert (aside / file_name).read_bytes() == damage(sound)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"emulate: {first[0].folder} is damaged (")
    assert line.endswith(f"): it is made again, and its old files are in {aside}")


@pytest.mark.slow
def test_points_of_earlier_versions_have_no_digests(
    sweep_file: Path, tmp_path: Path, played: Callable[[], list[str]]
) -> None:
    (item,) = made_up(rates(sweep_file, 0.1), tmp_path / "out")
    note = json.loads((item.folder / NOTE).read_bytes())
    (item.folder / NOTE).write_text(json.dumps({key: note[key] for key in OLD}))
    assert made_up(rates(sweep_file, 0.1), tmp_path / "out") == [item]
    assert played() == ["0.1 4"]
    # from now on the point is one of this code
    assert json.loads((item.folder / NOTE).read_bytes())["code"] == deciding_code()
    assert made_up(rates(sweep_file, 0.1), tmp_path / "out") == [item]


OLD = ("label", "digest", "facts")


@pytest.mark.slow
@pytest.mark.parametrize(
    "rate, kind, message",
    [
        (LACKS_DATA, DataError, "^digits is not here: run `emulate data digits`"),
        (CRASHES, EmulatorError, r"(?s)ended with code 1\n.*Traceback.*a bug of ours"),
        (IS_SHOT, EmulatorError, "was killed by signal 9"),
        pytest.param(IS_ENDED, EmulatorError, "was canceled from outside", marks=pytest.mark.slow),
    ],
)
def test_an_error_ends_the_sweep(
    sweep_file: Path,
    tmp_path: Path,
    played: Callable[[], list[str]],
    rate: float,
    kind: type[Exception],
    message: str,
) -> None:
    out = tmp_path / "out"
    with pytest.raises(kind, match=message) as raised:
        made_up(rates(sweep_file, rate, 0.3), out, cores=1)
    notes = getattr(raised.value, "__notes__", [])
    assert f"training.learning_rate={rate:g},seed=4" in f"{raised.value} {notes}"
    assert [path.name for path in out.rglob("*=*")] == []
    assert not (out / ".playing").exists()
    assert "0.3 4" not in played()


@pytest.mark.slow
def test_an_error_spares_what_is_finished_and_ends_what_is_not(
    sweep_file: Path, tmp_path: Path, played: Callable[[], list[str]]
) -> None:
    out = tmp_path / "out"

    class Noting(Watching):
        def standing(self, now: Standing) -> None:
            pids.update(filter(None, [hanging(out)]))

    pids: set[int] = set()
    with pytest.raises(DataError):
        made_up(rates(sweep_file, 0.1, HANGS, LACKS_DATA), out, view=Noting())
    assert [path.name for path in (out / "points").iterdir()] == [
        "training.learning_rate=0.1,seed=4"
    ]
    assert len((out / "table.csv").read_text().splitlines()) == 2
    assert not any(map(alive, pids))


def test_nowhere_to_write(sweep_file: Path, tmp_path: Path) -> None:
    with pytest.raises(HostError, match="name another folder"):
        made_up(rates(sweep_file, 0.1), sweep_file / "out")


SWEEPS = """
import sys
from pathlib import Path
from emulator.runs.cancel import Canceled, canceling
from emulator.sweeps import Grid, sweep
from tests.fakes.sweeps.made_up_sweeps import Watching, by_command

points = Grid(Path(sys.argv[1]), over=["training.learning_rate=0.1,13,0.2"]).points()
try:
    with canceling():
        start = by_command([sys.executable, *sys.argv[3:]])
        sweep(points, Path(sys.argv[2]), 1, Watching(), start=start)
except Canceled:
    sys.exit(130)
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_however_it_ends_the_next_one_goes_on(
    sweep_file: Path, tmp_path: Path, played: Callable[[], list[str]], number: int
) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-c", SWEEPS, str(sweep_file), str(out), *MADE_UP[1:]]
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
    made_up(rates(sweep_file, 0.1), out)
    assert played() == ["0.1 4"]
    assert not (out / ".playing").exists()
