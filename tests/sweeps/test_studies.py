"""Studies: each entry at its own best learning rate, over all seeds; and the tables of that."""

import json
import re
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.papers.folder import open_study
from emulator.errors import ScenarioError
from emulator.log.lines import line
from emulator.machine.shipped_files import study_files
from emulator.sweeps import Finished, Point
from emulator.sweeps.players import Players
from emulator.sweeps.point_process import Start, at_home
from emulator.sweeps.pool import Batch
from emulator.sweeps.studies import STUDIES, Entry, Study, play
from emulator.sweeps.studies.study_file import read_study
from tests.fakes.plain_records import full
from tests.fakes.sweeps.made_up_sweeps import Watching
from tests.fakes.typed_commands import Emulate
from tests.layers import ROOT

NAMES = sorted(STUDIES)
ALONE = Players(at_home, 1)

# -- what is studied -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_entry_of_a_study_can_be_played(name: str) -> None:
    points = [point for _, _, point in STUDIES[name].search()]
    assert len({point.label for point in points}) == len(points) > 1
    files = {entry.scenario.stem for entry in STUDIES[name].entries}
    assert {point.scenario.name for point in points} == files


@pytest.mark.parametrize("file", sorted(study_files().values()), ids=lambda file: file.stem)
def test_the_file_of_a_study_asks_a_question(file: Path) -> None:
    study = read_study(file)
    assert study.question.endswith("?")
    assert (study.name, study.paper) == (file.stem, file.parent.name)


FILE = """
name: made-up
about: of nothing
source: nobody
scenario: base.yaml
make: table-made-up
seeds: 2
entries:
  - worlds: {one: {set: {stop.updates: 10}, rates: [0.5]}, two: }
    rates: [0.1, 0.20]
    entries:
      plain: {set: {training.codec: {kind: topk, keep: 1%}}}
      other: {set: {stop.updates: 20}, rates: {one: [1], two: [2]}, seeds: 5, scenario: b.yaml}
"""


def test_an_entry_says_more_than_its_world_and_a_world_more_than_its_block(tmp_path: Path) -> None:
    file = tmp_path / "made-up.yaml"
    file.write_text(FILE)
    base, other = tmp_path / "base.yaml", tmp_path / "b.yaml"
    ten, twenty = "stop.updates=10", "stop.updates=20"
    codec = 'training.codec={"kind": "topk", "keep": "1%"}'
    assert read_study(file).entries == (
        Entry("one", "plain", base, (ten, codec), ("0.5",), seeds=2),
        Entry("one", "other", other, (twenty,), ("1",), seeds=5),
        Entry("two", "plain", base, (codec,), ("0.1", "0.2"), seeds=2),
        Entry("two", "other", other, (twenty,), ("2",), seeds=5),
    )


@pytest.mark.parametrize("mistake", ["seed: 3", "target: high", "]"])
def test_a_mistake_in_the_file_of_a_study_is_told_with_the_file(
    tmp_path: Path, mistake: str
) -> None:
    file = tmp_path / "made-up.yaml"
    file.write_text(f"{FILE}{mistake}\n")
    with pytest.raises(ScenarioError, match=r"made-up\.yaml"):
        read_study(file)


@pytest.mark.parametrize("name", NAMES)
def test_every_study_has_its_target(name: str) -> None:
    (file,) = (file for file in study_files().values() if file.stem == name)
    (target,) = re.findall(r"^make: (\S+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    explicit = f"\n{target}: ##" in (ROOT / "Makefile").read_text()
    assert explicit or target == f"figure-{name}"  # by the pattern `figure-%`


# -- playing one -----------------------------------------------------------------------------------


class Learns:
    """In place of the pool: how soon a training gets there is made up, by entry and rate."""

    def __init__(self, curves: dict[tuple[str, str], Sequence[float]]) -> None:
        self._curves = curves
        self.played: list[str] = []

    def __call__(
        self, batches: Sequence[Batch], cores: int, view: object, *, runs: Path | None, start: Start
    ) -> None:
        for batch in batches:
            waiting = deque(batch.first())
            while waiting:
                # what is still to follow is known before, but for entries at the rate of others
                assert len(waiting) + len(batch.later()) > 0
                waiting += batch.then(self._finished(waiting.popleft(), batch.out))
            assert batch.later() == []

    def _finished(self, point: Point, out: Path) -> Finished:
        folder = out / "points" / point.name
        if not folder.exists():
            self.played.append(point.label)
            folder.mkdir(parents=True)
            curve = self._curves[point.values["entry"], point.values["rate"]]
            evaluations = [
                {"at": n, "what": "evaluation", "updates": n, "accuracy": accuracy}
                for n, accuracy in enumerate(curve)
            ]
            records = [*evaluations, {"at": len(curve), "what": "stop", "reason": "updates"}]
            (folder / "run.jsonl").write_bytes(b"".join(line(full(record)) for record in records))
        return Finished(point.label, folder, {})


def study(*entries: Entry, **facts: Any) -> Study:
    return Study("made-up", "of nothing", SMALLEST, entries, **facts)


def rows(out: Path, key: str = "rows") -> list[tuple[str, str, int]]:
    note = json.loads((out / "study.json").read_bytes())
    return [(item["entry"], item["rate"], len(item["runs"])) for item in note[key]]


SMALLEST = ROOT / "scenarios" / "smallest.yaml"
FAST = Entry("w", "fast", SMALLEST, (), ("0.1", "0.2"))
SLOW = Entry("w", "slow", SMALLEST, (), ("0.1", "0.3"))
CURVES = {
    ("fast", "0.1"): (0.1, 0.5, 0.9, 0.9, 0.9, 0.9),
    ("fast", "0.2"): (0.1, 0.9, 0.8, 0.8, 0.8, 0.8),  # sooner there, though it ends lower
    ("slow", "0.1"): (0.1, 0.2, 0.3, 0.4),
    ("slow", "0.3"): (0.1, 0.2, 0.3, None),  # never there, and not finite in the end
}


@pytest.fixture
def learns(monkeypatch: pytest.MonkeyPatch) -> Learns:
    made = Learns(CURVES)  # type: ignore[arg-type]
    monkeypatch.setattr("emulator.sweeps.studies.play_study.play_batches", made)
    return made


def test_each_entry_is_played_with_all_seeds_at_its_best_rate(
    tmp_path: Path, learns: Learns
) -> None:
    play({tmp_path: study(FAST, SLOW, target=0.85)}, ALONE, Watching())
    assert rows(tmp_path) == [("fast", "0.2", 3), ("slow", "0.1", 3)]
    assert rows(tmp_path, "tried") == [
        ("fast", "0.1", 1),
        ("fast", "0.2", 1),
        ("slow", "0.1", 1),
        ("slow", "0.3", 1),
    ]
    assert len(learns.played) == 4 + 2 * 2


def test_rows_in_containers_have_their_runtime_and_their_number_of_seeds(
    tmp_path: Path, learns: Learns
) -> None:
    one = replace(FAST, rates=("0.1",))
    made = study(one, replace(one, on="docker", seeds=1), also=(("fast", "fast"),))
    play({tmp_path: made}, ALONE, Watching())
    assert rows(tmp_path) == [("fast", "0.1", 3), ("fast", "0.1", 1)]
    virtual, docker = open_study(tmp_path).rows
    assert (virtual.in_containers, docker.in_containers) == (False, True)
    assert docker.title == "fast, in containers"
    assert not {*virtual.runs} & {*docker.runs}


def test_where_none_reaches_the_target_the_best_ends_highest(
    tmp_path: Path, learns: Learns
) -> None:
    play({tmp_path: study(FAST, target=0.95)}, ALONE, Watching())
    assert rows(tmp_path) == [("fast", "0.1", 3)]


def test_who_borrows_a_rate_is_played_at_both(tmp_path: Path, learns: Learns) -> None:
    learns._curves = {**CURVES, ("slow", "0.2"): (0.1,)}  # type: ignore[dict-item]
    play({tmp_path: study(FAST, SLOW, target=0.85, also=(("slow", "fast"),))}, ALONE, Watching())
    assert rows(tmp_path)[2:] == [("slow", "0.2", 3)]
    assert [row.own for row in open_study(tmp_path).rows] == [True, True, False]


def test_nothing_is_played_twice(tmp_path: Path, learns: Learns) -> None:
    once = study(FAST, SLOW, target=0.85)
    play({tmp_path: once}, ALONE, Watching())
    before = list(learns.played)
    play({tmp_path: once}, ALONE, Watching())
    assert learns.played == before == list(dict.fromkeys(before))


def test_a_diverged_training_is_never_the_best(tmp_path: Path, learns: Learns) -> None:
    play({tmp_path: study(SLOW, target=0.85)}, ALONE, Watching())
    folder = tmp_path / "points" / learns.played[0]
    text = (folder / "run.jsonl").read_text().replace('"reason":"updates"', '"reason":"diverged"')
    (folder / "run.jsonl").write_text(text)
    play({tmp_path: study(SLOW, target=0.85)}, ALONE, Watching())
    assert rows(tmp_path) == [("slow", "0.3", 3)]


def test_without_a_name_the_studies_are_listed_with_their_questions(emulate: Emulate) -> None:
    points = Path("runs/studies/pulls/points")
    for number in range(2):
        (points / str(number)).mkdir(parents=True)
        (points / str(number) / "point.json").touch()
    said = emulate("study")
    rows = {line.split()[0]: line for line in said.out.splitlines() if line}
    assert {*NAMES} <= rows.keys()
    # a long question goes on in the next line
    assert all(STUDIES[name].question[:40] in rows[name] for name in NAMES)
    assert rows["pulls"].split()[1:5] == ["hardy-2017", "2", "of", "12"]


def test_the_command_names_what_there_is(emulate: Emulate) -> None:
    said = emulate("study", "nothing")
    assert said.code == 2
    assert all(name in said.err for name in NAMES)


def test_a_book_that_is_no_page_is_refused_before_hours_of_playing(emulate: Emulate) -> None:
    said = emulate("study", "pulls", "--book", "book.md")
    assert said.code == 2
    assert "'book.md' must end in .html" in said.err
    assert not Path("runs").exists()
