"""Courses of runs are kept beside the study, and are made anew where a run or the code changed."""

import json
from pathlib import Path

import pytest

from analysis.papers import course
from analysis.papers.course import courses
from analysis.papers.folder import open_study
from tests.fakes.runs.handmade_run import written
from tests.fakes.runs.made_up_study import BETTER, GOOD, played, training


class Reader:
    """Counts the runs that are read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.read: list[str] = []
        monkeypatch.setattr(course, "read", self._read)

    def _read(self, folder: Path) -> object:
        from analysis import read

        self.read.append(folder.name)
        return read(folder)


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Reader:
    return Reader(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    runs = [training(BETTER, 1, 2), training(GOOD, 1, 2)]
    return played(tmp_path, "headline", {("w", "ASGD", "0.1"): runs})


def plain(folder: Path) -> str:
    """Return the courses of the study in `folder` as text, in which NaN equals NaN."""
    return repr(courses(open_study(folder)))


def test_the_second_time_no_run_is_read(folder: Path, reader: Reader) -> None:
    first = plain(folder)
    assert reader.read == ["0-0", "0-1"]
    assert plain(folder) == first
    assert reader.read == ["0-0", "0-1"]


def test_a_run_that_was_played_anew_is_read_again(folder: Path, reader: Reader) -> None:
    courses(open_study(folder))
    (folder / "points" / "0-1" / "point.json").write_text(json.dumps({"label": "anew"}))
    courses(open_study(folder))
    assert reader.read == ["0-0", "0-1", "0-1"]


def test_a_log_that_grew_is_read_again(folder: Path, reader: Reader) -> None:
    courses(open_study(folder))
    with (folder / "points" / "0-0" / "run.jsonl").open("a") as log:
        log.write('{"at": 99.0, "what": "stop", "reason": "updates"}\n')
    courses(open_study(folder))
    assert reader.read == ["0-0", "0-1", "0-0"]


def test_other_code_reads_all_runs_again(
    folder: Path, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    courses(open_study(folder))
    monkeypatch.setattr(course, "_code", lambda: "other")
    courses(open_study(folder))
    assert len(reader.read) == 4


def test_a_damaged_file_of_courses_is_made_anew(folder: Path, reader: Reader) -> None:
    first = plain(folder)
    (folder / course.KEPT).write_text("{")
    assert plain(folder) == first
    assert len(reader.read) == 4


WAIT = {"kind": "straggler", "nodes": "all", "delay": {"exponential": "400ms"}}


@pytest.mark.parametrize(
    ("scenario", "text"),
    [
        ({"virtual": {"step": "10ms"}}, "10ms, constant"),
        (
            {"virtual": {"step": "10ms"}, "faults": [WAIT]},
            "10ms, constant after a wait: exponential, 400ms",
        ),
        ({"faults": [WAIT]}, "exponential, 400ms"),
        ({"virtual": {"step": None}, "faults": [{"kind": "crash"}]}, ""),
    ],
)
def test_the_laws_of_a_step_and_of_the_wait_before_it(
    tmp_path: Path, scenario: dict, text: str
) -> None:
    run = written(tmp_path, training(GOOD, 1, 2), scenario=scenario)
    assert course.course(run).step == text


def test_a_study_can_be_moved_with_its_courses(folder: Path, reader: Reader) -> None:
    courses(open_study(folder))
    moved = folder.rename(folder.with_name("moved"))
    found = courses(open_study(moved))
    assert [path.is_relative_to(moved) for path in found] == [True, True]
    assert len(reader.read) == 2


def test_a_study_in_a_folder_that_cannot_be_written_is_read_all_the_same(
    folder: Path, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(course, "whole_file", refused)
    assert len(courses(open_study(folder))) == 2
