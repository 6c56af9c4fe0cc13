"""Batches of points: followers, points that share a process, points that are finished already."""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from emulator.sweeps import Finished, Point, deciding_code, sweep
from emulator.sweeps.deciding_code import DECIDING, deciding_files, tree_digest
from emulator.sweeps.point_note import NOTE
from emulator.sweeps.pool import PlainBatch, play_batches
from emulator.sweeps.remaining_time import InPlay, seconds_left
from tests.fakes.sweeps.made_up_play import HANGS
from tests.fakes.sweeps.made_up_sweeps import MADE_UP, Watching, by_command, made_up, rates
from tests.layers import PACKAGE, ROOT, imports, module_file

# -- points that follow ----------------------------------------------------------------------------


class Following(PlainBatch):
    """A batch in which the first point's result brings further points."""

    further: list[Point]

    def then(self, finished: Finished) -> Sequence[Point]:
        if finished.label != self.points[0].label:
            return ()
        return self.further

    def later(self) -> Sequence[Point]:
        return ()


@pytest.mark.slow
def test_points_that_follow_are_played_while_the_first_ones_are(
    sweep_file: Path, tmp_path: Path, played: Callable[[], list[str]]
) -> None:
    quick, endless, *further = rates(sweep_file, 0.1, HANGS, 0.2, 0.3)
    batch = Following([quick, endless], tmp_path / "out")
    object.__setattr__(batch, "further", further)

    class Enough(Watching):
        def finished(self, one: Finished, now: object) -> None:
            super().finished(one, now)  # type: ignore[arg-type]
            if len(self.said) == 3:
                raise KeyboardInterrupt

    view = Enough()
    with pytest.raises(KeyboardInterrupt):  # the endless one is still played
        play_batches([batch], 2, view, start=by_command(MADE_UP))
    assert view.said == [point.label for point in (quick, *further)]
    assert played() == ["0.1 4", "0.2 4", "0.3 4"]


@pytest.mark.slow
def test_batches_are_played_as_one_into_their_folders(
    sweep_file: Path, tmp_path: Path, played: Callable[[], list[str]]
) -> None:
    view = Watching()
    batches = [
        PlainBatch(rates(sweep_file, rate), tmp_path / name, {"of": name})
        for name, rate in (("one", 0.1), ("two", 0.2))
    ]
    (first,), (second,) = play_batches(batches, 2, view, start=by_command(MADE_UP))
    assert {now.total for now in view.standings} == {2}
    assert view.standings[-1].finished == 2
    assert [first.folder.parents[1], second.folder.parents[1]] == [
        tmp_path / "one",
        tmp_path / "two",
    ]
    assert json.loads((tmp_path / "two" / "sweep.json").read_bytes())["of"] == "two"


@pytest.mark.slow
def test_short_points_share_a_process_and_keep_notes_as_others(
    sweep_file: Path, tmp_path: Path, played: Callable[[], list[str]]
) -> None:
    points = [replace(point, short=True) for point in rates(sweep_file, 0.1, 0.2, 0.3, 0.4)]
    made = made_up(points, tmp_path / "out", cores=2)
    assert len(played()) == 4
    assert all((item.folder / NOTE).is_file() for item in made)
    assert len({note_of(item)["facts"]["updates"] for item in made}) == 1
    (made[0].folder / "run.jsonl").write_text("")  # damage is seen as with others
    assert made_up(points, tmp_path / "out", cores=1) == made
    assert sorted(played()) == ["0.1 4", "0.1 4", "0.2 4", "0.3 4", "0.4 4"]
    # a start of a process for each would not be shared
    assert len({pid for pid, _ in starts()}) < len(starts())


def starts() -> list[tuple[str, str]]:
    """Return process and rate of every point played."""
    lines = Path(os.environ["PLAYED"]).with_name("processes").read_text().splitlines()
    return [(pid, rate) for pid, rate in map(str.split, lines)]


def note_of(item: Finished) -> dict:
    note: dict = json.loads((item.folder / NOTE).read_bytes())
    return note


# -- one cache -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_equal_points_are_played_once(
    sweep_file: Path, tmp_path: Path, played: Callable[[], list[str]]
) -> None:
    (point,) = rates(sweep_file, 0.1)
    points = [replace(point, label=name) for name in ("first", "second", "third")]
    made = made_up(points, tmp_path / "out", cores=2)
    assert played() == ["0.1 4"]
    assert [(item.label, item.row["point"], item.folder.name) for item in made] == [
        (name, name, name) for name in ("first", "second", "third")
    ]
    assert [note_of(item)["label"] for item in made] == ["first", "second", "third"]
    assert len({(item.folder / "run.jsonl").stat().st_ino for item in made}) == 1
    assert made_up(points, tmp_path / "out") == made


@pytest.mark.slow
def test_what_another_sweep_has_finished_is_taken_over(
    sweep_file: Path, tmp_path: Path, played: Callable[[], list[str]]
) -> None:
    runs = tmp_path / "runs"
    points = rates(sweep_file, 0.1, 0.2)
    before = made_up(points, runs / "sweeps" / "before")
    (before[1].folder / "run.jsonl").write_text("damaged")
    again = sweep(
        points, runs / "studies" / "x", 1, Watching(), runs=runs, start=by_command(MADE_UP)
    )
    assert played() == ["0.1 4", "0.2 4", "0.2 4"]  # a damaged one is not taken
    assert [item.row for item in again] == [item.row for item in before]
    inode = (before[0].folder / "run.jsonl").stat().st_ino
    assert (again[0].folder / "run.jsonl").stat().st_ino == inode
    elsewhere = tmp_path / "elsewhere"
    sweep(
        points[:1],
        elsewhere / "sweeps" / "y",
        1,
        Watching(),
        runs=elsewhere,
        start=by_command(MADE_UP),
    )
    assert len(played()) == 4  # below another runs folder


@pytest.mark.slow
def test_points_of_other_code_are_played_anew_and_put_aside(
    sweep_file: Path,
    tmp_path: Path,
    played: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    runs = tmp_path / "runs"
    out, points = runs / "sweeps" / "out", rates(sweep_file, 0.1, 0.2)
    made = made_up(points, out)
    before = (made[0].folder / "run.jsonl").read_bytes()
    monkeypatch.setattr(deciding_code, "versions", lambda names: {"numpy": "0.1"})
    again = sweep(points, out, 2, Watching(), runs=runs, start=by_command(MADE_UP))
    assert played() == ["0.1 4", "0.1 4", "0.2 4", "0.2 4"]
    assert [item.row for item in again] == [item.row for item in made]
    assert (out / "other-code" / made[0].folder.name / "run.jsonl").read_bytes() == before
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"emulate: 2 points of {out} to play anew, ")
    assert "numpy 0.1 instead of " in line and line.endswith(f" in {out / 'other-code'}")
    # nor are they taken over
    sweep(points, runs / "studies" / "x", 2, Watching(), runs=runs, start=by_command(MADE_UP))
    assert len(played()) == 4


def test_comments_and_docstrings_decide_no_number(tmp_path: Path) -> None:
    one, other, third = (tmp_path / f"{name}.py" for name in ("one", "other", "third"))
    one.write_text('"""A."""\n\n\ndef f(x):\n    """B."""\n    return x + 1  # c\n')
    other.write_text("def f(x):\n    return x + 1\n")
    third.write_text("def f(x):\n    return x + 2\n")
    assert tree_digest(one) == tree_digest(other) != tree_digest(third)


NOT_DECIDING = {
    "checks": "refuses and warns",
    "errors": "words",
    "log": "but for the records and the summary: lines, merging and verdicts on hosts",
    "machine": "this host",
    "node": "containers; of a virtual run, checkpoints",
    "plugins": "loads the code of users, which is in the digest of a point",
    "runs": "but for the conductor, the plan and the split: folders and files",
    "runtimes": "but for virtual time",
    "scenario": "but for the sections and the timeline: reading, of which the result is digested",
    "shaping": "containers",
    "transport": "containers",
}


@pytest.mark.slow
def test_every_module_of_a_virtual_run_decides_or_is_known_not_to() -> None:
    deciding = {path.relative_to(ROOT).as_posix() for path in deciding_files()}
    pending, seen = ["emulator.runtimes.virtual.play_virtual"], set()
    while pending:
        file = module_file(pending.pop())
        if file is None or file in seen or not file.is_relative_to(PACKAGE):
            continue
        seen.add(file)
        pending += imports(file)
    others = {
        path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for path in seen
        if path.relative_to(ROOT).as_posix() not in deciding
    }
    assert others - {"__init__"} <= NOT_DECIDING.keys()
    assert all((PACKAGE / name).exists() for name in DECIDING)


# -- the estimate ----------------------------------------------------------------------------------


def test_the_estimate_weighs_points_by_their_work() -> None:
    # 12 of work took 5 s, and 20 are left
    assert seconds_left(5, 10, [InPlay(4, 0.5)], [18], 2) == pytest.approx(5 * 20 / 12)
    # the last point has one core alone, which does 1 in a second
    assert seconds_left(5, 10, [InPlay(100, 0)], [], 2) == 100
    assert seconds_left(1, 0, [InPlay(100, 0.01)], [100], 2) is None
    assert seconds_left(9, 10, [], [], 2) == 0
