"""Studies: each entry at its own best learning rate, over all seeds; and the tables of that."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from analysis import RunError
from analysis.papers import MODULES, publish
from analysis.papers.folder import declared, open_study
from analysis.papers.markdown import BEGIN, END, replace
from emulator.cli.play.study import study as study_command
from emulator.errors import ScenarioError
from emulator.log.lines import line
from emulator.machine.shipped_files import study_files
from emulator.sweeps import Finished, Point
from emulator.sweeps.studies import STUDIES, Entry, Study, play
from emulator.sweeps.studies.entries import read_study
from tests.fakes.both_ways import one_sided
from tests.fakes.plain_records import full
from tests.fakes.runs.handmade_run import update, written
from tests.fakes.sweeps.made_up_sweeps import Watching
from tests.fakes.typed_commands import Emulate
from tests.layers import ROOT

NAMES = sorted(STUDIES)

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
    first = file.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# ")
    assert first.endswith("?")
    assert read_study(file).name == file.stem


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
def test_every_study_has_its_table_its_page_and_its_target(name: str) -> None:
    page = (ROOT / "docs" / f"{name}.md").read_text()
    command = f"make {declared(name)['make']}"
    assert BEGIN.format(command=command) in page
    assert END in page
    assert f"\n{command.removeprefix('make ')}: ##" in (ROOT / "Makefile").read_text()


# -- playing one -----------------------------------------------------------------------------------


class Learns:
    """In place of a sweep: how soon a training gets there is made up, by entry and rate."""

    def __init__(self, curves: dict[tuple[str, str], Sequence[float]]) -> None:
        self._curves = curves
        self.played: list[str] = []

    def __call__(
        self, points: Sequence[Point], out: Path, cores: int, view: object
    ) -> list[Finished]:
        return [self._finished(point, out) for point in points]

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
    monkeypatch.setattr("emulator.sweeps.studies.play_study.sweep", made)
    return made


def test_each_entry_is_played_with_all_seeds_at_its_best_rate(
    tmp_path: Path, learns: Learns
) -> None:
    play(study(FAST, SLOW, target=0.85), tmp_path, 1, Watching())
    assert rows(tmp_path) == [("fast", "0.2", 3), ("slow", "0.1", 3)]
    assert rows(tmp_path, "tried") == [
        ("fast", "0.1", 1),
        ("fast", "0.2", 1),
        ("slow", "0.1", 1),
        ("slow", "0.3", 1),
    ]
    assert len(learns.played) == 4 + 2 * 2


def test_where_none_reaches_the_target_the_best_ends_highest(
    tmp_path: Path, learns: Learns
) -> None:
    play(study(FAST, target=0.95), tmp_path, 1, Watching())
    assert rows(tmp_path) == [("fast", "0.1", 3)]


def test_who_borrows_a_rate_is_played_at_both(tmp_path: Path, learns: Learns) -> None:
    learns._curves = {**CURVES, ("slow", "0.2"): (0.1,)}  # type: ignore[dict-item]
    play(study(FAST, SLOW, target=0.85, also=(("slow", "fast"),)), tmp_path, 1, Watching())
    assert rows(tmp_path)[2:] == [("slow", "0.2", 3)]
    assert [row.own for row in open_study(tmp_path).rows] == [True, True, False]


def test_nothing_is_played_twice(tmp_path: Path, learns: Learns) -> None:
    once = study(FAST, SLOW, target=0.85)
    play(once, tmp_path, 1, Watching())
    before = list(learns.played)
    play(once, tmp_path, 1, Watching())
    assert learns.played == before == list(dict.fromkeys(before))


def test_a_diverged_training_is_never_the_best(tmp_path: Path, learns: Learns) -> None:
    play(study(SLOW, target=0.85), tmp_path, 1, Watching())
    folder = tmp_path / "points" / learns.played[0]
    text = (folder / "run.jsonl").read_text().replace('"reason":"updates"', '"reason":"diverged"')
    (folder / "run.jsonl").write_text(text)
    play(study(SLOW, target=0.85), tmp_path, 1, Watching())
    assert rows(tmp_path) == [("slow", "0.3", 3)]


def test_the_help_names_every_study() -> None:
    assert study_command.help
    assert all(name in study_command.help for name in NAMES)


def test_the_command_names_what_there_is(emulate: Emulate) -> None:
    said = emulate("study", "nothing")
    assert said.code == 2
    assert all(name in said.err for name in NAMES)


@pytest.mark.parametrize("page", [None, "a page without marks"])
def test_a_page_without_a_place_for_the_tables_is_refused_before_hours_of_playing(
    emulate: Emulate, tmp_path: Path, page: str | None
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    if page:
        (docs / "pulls.md").write_text(page)
    said = emulate("study", "pulls", "--docs", docs)
    assert said.code == 1
    assert f"{docs / 'pulls.md'}: " in said.err
    assert not (tmp_path / "runs").exists()


# -- tables ----------------------------------------------------------------------------------------


def folder_of(out: Path, name: str, entries: dict[tuple[str, str, str], list[list[dict]]]) -> Path:
    """A study of these entries (world, name, rate), each with the records of its seeds' runs."""
    note: dict[str, Any] = {"study": name, "rows": [], "tried": []}
    for (world, entry, rate), seeds in entries.items():
        runs = []
        for seed, records in enumerate(seeds):
            place = f"points/{len(note['rows'])}-{seed}"
            count = sum(item["what"] == "update" for item in records)
            summary = {
                "dense_push_bytes": 400 * count,
                "paper_push_bytes": {"conv": {"bytes": 2.0 * count, "ratio": 50.0}},
            }
            written(out / place, records, summary=summary)
            runs.append(place)
        plain = {"world": world, "entry": entry, "rate": rate, "runs": runs}
        note["rows"].append({"how": "own", **plain})
        note["tried"].append({**plain, "runs": runs[:1]})
    (out / "study.json").write_text(json.dumps(note))
    return out


def training(accuracies: Sequence[float], entries: int, indices: int) -> list[dict]:
    """An evaluation before each ten updates, all of 100 parameters, each behind its pull."""
    records: list[dict] = []
    for number, accuracy in enumerate(accuracies):
        at, updates = float(number * 10), number * 10
        scored = {"version": updates, "updates": updates, "accuracy": accuracy}
        records.append({"at": at, "what": "evaluation", **scored})
        for item in range(10):
            records.append(pull(at + item))
            records.append(update(at + item, entries=entries, values=4 * entries, indices=indices))
    return records


def pull(at: float) -> dict:
    return {"at": at, "what": "pull", "node": "a", "version": int(at), "bytes": 700}


GOOD, BETTER = (0.1, 0.9, 0.972, 0.98, 0.981), (0.1, 0.96, 0.98, 0.985, 0.986)


@pytest.mark.slow
def test_the_table_of_adacomp(tmp_path: Path) -> None:
    dense = [training(BETTER, 100, 0)] * 3
    sparse = [training(BETTER, 1, 2), training(BETTER, 1, 2), training(GOOD, 1, 2)]
    entries = {("2 devices", "ASGD", "0.1"): dense, ("2 devices", "AdaComp", "0.2"): sparse}
    result = MODULES["adacomp"].tables(open_study(folder_of(tmp_path, "adacomp", entries)))
    words, _, *costs = result.splitlines()
    assert costs[0].startswith("|  | learning rate | ended at | updates to 97 % | pushed")
    # 30 updates of 410 bytes; of 4 for the value, 2 for the index and 10 besides
    cells = [line.split(" | ")[3:] for line in costs if line.startswith("| 2 devices")]
    # a pull of 700 bytes before each update
    assert cells[0] == ["20", "8.2 kB", "1", "14 kB", "22.2 kB", "1 |"]
    assert cells[1] == ["20", "320 B", "25.6", "14 kB", "14.3 kB", "1.55 |"]
    assert cells[2:4] == [
        ["30", "12.3 kB", "1", "21 kB", "33.3 kB", "1 |"],
        ["30", "480 B", "25.6", "21 kB", "21.5 kB", "1.55 |"],
    ]
    assert "97.8 % (95.8 % – 97.8 %)" in costs[3]
    assert words.startswith("**Result with 2 devices**, until 98.5 %, against ASGD")
    assert "pushes 25.6 times fewer bytes, takes 1.55 times fewer in both directions" in words
    assert one_sided(result) == []


@pytest.mark.slow
def test_a_table_says_never_if_most_seeds_never_got_there(tmp_path: Path) -> None:
    entries = {
        ("w", "ASGD", "0.1"): [training(BETTER, 100, 0)] * 3,
        ("w", "AdaComp", "0.1"): [training(GOOD, 1, 2)] * 2 + [training(BETTER, 1, 2)],
    }
    result = MODULES["adacomp"].tables(open_study(folder_of(tmp_path, "adacomp", entries)))
    assert "| never | never | – |" in result


def test_byte_models_charge_no_dense_update_for_indices(tmp_path: Path) -> None:
    entries = {
        ("w", "ASGD", "0.1"): [training(BETTER, 100, 0)],
        ("w", "AdaComp", "0.1"): [training(BETTER, 1, 2)],
    }
    result = MODULES["adacomp"].tables(open_study(folder_of(tmp_path, "adacomp", entries)))
    line = next(item for item in result.splitlines() if item.startswith("| w: AdaComp | 25.6 |"))
    # 400 bytes over 4; over 6 and a count for its only block; over 8; over 12
    assert line.split(" | ")[2:] == ["100", "40", "50", "33.3 |"]


@pytest.mark.slow
def test_the_table_of_residuals(tmp_path: Path) -> None:
    packed = training(GOOD, 1, 2)
    for item in (item for item in packed if item["what"] == "update"):
        item["paper"] = {"conv": 4.0 if item["at"] < 20 else 1.0}
    entries = {
        ("CNN", "dense", "0.1"): [training(BETTER, 100, 0)] * 3,
        ("CNN", "adacomp-residual", "0.1"): [packed] * 3,
    }
    result = MODULES["residual"].tables(open_study(folder_of(tmp_path, "residual", entries)))
    assert "| CNN: adacomp-residual | 95.82 % (95.82 % – 95.82 %) | 98.10 %" in result
    assert "| -1.95 points |" in result
    # by the summary 100 bytes a dense update; the first two fifths send four times as much
    assert (
        "| CNN: adacomp-residual, conv, as the paper counts | 25 | 25 | 57.1 | 100 | 100 | 100 |"
        in result
    )
    assert "| CNN: adacomp-residual, on the wire | 25 |" in result
    # 50 pulls of 700 bytes; 50 pushes of 410 and of 16
    assert "| CNN: adacomp-residual | 800 B | 25.6 | 35 kB | 35.8 kB | 1.55 |" in result
    assert one_sided(result) == []


def test_the_table_of_pulls(tmp_path: Path) -> None:
    dense = training(GOOD, 1, 2)
    dense += [{**pull(2.0), "bytes": 9000.0, "node": "evaluator"}]
    delta = [{**r, "bytes": 70} if r["what"] == "pull" else r for r in training(GOOD, 1, 2)]
    entries = {
        ("w", "dense", "0.1"): [dense] * 3,
        ("w", "delta", "0.1"): [delta] * 3,
        ("w", "poor", "0.1"): [training(GOOD[:2], 1, 2)] * 2 + [dense],
    }
    result = MODULES["pulls"].tables(open_study(folder_of(tmp_path, "pulls", entries)))
    assert "| dense | 20 s | 20 | 320 B | 14 kB | 14.3 kB | 1 |" in result
    assert "| delta | 20 s | 20 | 320 B | 1.4 kB | 1.72 kB | 1 |" in result
    assert "| poor | never | never | never | never | never | never |" in result
    assert result.startswith(
        "**Result.** Against dense: delta takes 1 times less time to 97 %, 10 times fewer bytes "
        "pulled and 8.33 times fewer in both directions."
    )
    assert one_sided(result) == []


def test_only_what_stands_between_the_marks_is_replaced(tmp_path: Path) -> None:
    page, begin = tmp_path / "page.md", BEGIN.format(command="make x")
    page.write_text(f"before\n{begin}\nold\n{END}\nafter\n")
    replace(page, "make x", "new")
    replace(page, "make x", "newer")
    assert page.read_text() == f"before\n{begin}\n\nnewer\n\n{END}\nafter\n"
    page.write_text("no marks")
    with pytest.raises(RunError, match="has no place for the tables"):
        replace(page, "make x", "new")
    assert page.read_text() == "no marks"


@pytest.mark.slow
def test_a_study_is_published_as_page_and_figure(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    page = docs / "adacomp.md"
    page.write_text(f"{BEGIN.format(command='make table-adacomp')}\n{END}\n")
    entries = {("w", "ASGD", "0.1"): [training(BETTER, 100, 0)]}
    folder = folder_of(tmp_path / "study", "adacomp", entries)
    assert publish(folder, docs) == [page, docs / "adacomp.png"]
    assert "| w: ASGD |" in page.read_text()
    assert (docs / "adacomp.png").read_bytes().startswith(b"\x89PNG")


def test_a_folder_without_a_finished_study_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no finished study"):
        publish(tmp_path, tmp_path)
