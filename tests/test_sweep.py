"""Grids of scenarios: every mistake comes first, nothing is played twice or counted by halves."""

import csv
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analysis import compare as comparing
from emulator import datasets
from emulator.cli import commands
from emulator.cli.sweeping import PlainView, span
from emulator.errors import DataError, EmulatorError, HostError, ScenarioError
from emulator.folder import folders
from emulator.scenario import load, loads
from emulator.sweep import Axis, Finished, Grid, Point, Standing, folder_name, medians, sweep
from emulator.sweep import table as tables
from emulator.sweep.shelf import NOTE

from .handmade_run import written
from .made_up_play import CRASHES, DIVERGES, HANGS, IS_ENDED, IS_SHOT, LACKS_DATA
from .synthetic_run import Synthetic
from .test_cli import Emulate, data, emulate
from .test_docs import blocks

__all__ = ["data", "emulate"]

ROOT = Path(__file__).parents[1]
MADE_UP = (sys.executable, "-m", "tests.made_up_play")

SCENARIO = """# Which learning rate?
name: pair
seed: 4
training: {dataset: digits, model: digits-mlp, algorithm: adacomp}
stop: {updates: 40}
virtual: {learner: none, step: 10ms, boot: 1s}
devices:
  - {name: near, count: 2, link: {up: {rate: 1mbit}}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "pair.yaml"
    file.write_text(SCENARIO)
    return file


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """What has been played so far: rate and seed of each."""
    log = tmp_path / "played"
    log.touch()
    monkeypatch.setenv("PLAYED", str(log))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return lambda: sorted(log.read_text().splitlines())


class Watching:
    """A view that keeps all it was shown."""

    def __init__(self) -> None:
        self.standings: list[Standing] = []
        self.said: list[str] = []

    def progress(self, text: str) -> None:
        self.said.append(text)

    def standing(self, now: Standing) -> None:
        self.standings.append(now)

    def finished(self, one: Finished, now: Standing) -> None:
        self.said.append(one.label)


def made_up(
    points: list[Point], out: Path, cores: int = 2, view: Watching | None = None
) -> list[Finished]:
    return sweep(points, out, cores, view or Watching(), command=MADE_UP)


def rates(file: Path, *values: float, seeds: int = 1) -> list[Point]:
    over = "training.learning_rate=" + ",".join(f"{value:g}" for value in values)
    return Grid(file, over=(over,), seeds=seeds).points()


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


# -- grids ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, values",
    [
        ("a.b=1", ("1",)),
        ("a.b=0.01, 0.03,1e-1", ("0.01", "0.03", "1e-1")),
        ("a={kind: topk, keep: 1%},dense", ("{kind: topk, keep: 1%}", "dense")),
        ("a=[1, [2, 3]],[4]", ("[1, [2, 3]]", "[4]")),
        ("a='x,y',\"z,\"", ("'x,y'", '"z,"')),
        ("a='{',b", ("'{'", "b")),
        ("a=b=c,d", ("b=c", "d")),
    ],
)
def test_an_axis_as_one_types_it(text: str, values: tuple[str, ...]) -> None:
    assert Axis.parse(text).values == values


def test_every_combination_with_every_seed(file: Path) -> None:
    over = ("training.learning_rate=0.1,0.2", "training.codec.keep=1%,0.5%,2%")
    points = Grid(file, ("stop.updates=7",), over, seeds=2).points()
    assert len(points) == len({point.label for point in points}) == 12
    assert points[1].label == "training.learning_rate=0.1,training.codec.keep=1%,seed=5"
    assert [point.scenario.seed for point in points] == [4, 5] * 6
    assert [point.scenario.training.learning_rate for point in points] == [0.1] * 6 + [0.2] * 6
    for point in points:
        words = [f"{path}={value}" for path, value in point.values.items()]
        seed = f"seed={point.scenario.seed}"
        assert point.scenario == load(file, ["stop.updates=7", *words, seed])
        assert point.name == point.label


def test_a_grid_may_choose_the_seeds_itself(file: Path) -> None:
    points = Grid(file, over=("seed=9,2",)).points()
    assert [(point.label, point.scenario.seed) for point in points] == [
        ("seed=9", 9),
        ("seed=2", 2),
    ]


def test_every_mistake_of_every_point_once(file: Path) -> None:
    over = (
        "training.learning_rate=0.1,-1",
        "training.codec.keep=1%,200%,0.5%",
        "stop.updtes=4",
        "devices[7].count=1",
        "training.learning_rate=3",
        "seed=1,2",
        "training.batch_size=10,,20",
        "evaluate.every=5,7,5",
        "nonsense",
    )
    with pytest.raises(ScenarioError) as refused:
        Grid(file, over=over, seeds=3).points()
    lines = str(refused.value).splitlines()
    for beginning in (
        "--over training.learning_rate=-1: training.learning_rate: ",
        "--over training.codec.keep=200%: training.codec.keep: ",
        "--over stop.updtes=4: stop.updtes: ",
        "--over devices[7].count=1: devices has no entry [7]",
        "--over training.learning_rate=3: this key has an --over already",
        "--over seed=1,2: --seeds varies the seed too",
        "--over training.batch_size=10,,20: has an empty value",
        "--over evaluate.every=5,7,5: has 5 twice",
        "--over nonsense: write PATH=VALUE,VALUE,…",
    ):
        assert len([line for line in lines if line.startswith(beginning)]) == 1, beginning
    assert len(lines) == 9


def test_a_mistake_in_the_file_is_told_once(file: Path) -> None:
    file.write_text(SCENARIO.replace("1mbit", "1Mbps"))
    with pytest.raises(ScenarioError) as refused:
        rates(file, 0.1, 0.2, seeds=2)
    (line,) = str(refused.value).splitlines()
    assert line.startswith(f"{file}:8: devices[0].link.up.rate: ")


def test_a_mistake_of_a_combination_says_of_which(file: Path) -> None:
    file.write_text(SCENARIO + "faults:\n  - {kind: crash, nodes: [near-2], at: 5s}\n")
    with pytest.raises(ScenarioError) as refused:
        Grid(file, over=("devices[0].count=2,3", "evaluate.every=5,7")).points()
    (line,) = str(refused.value).splitlines()
    assert line.startswith(f"{file}:10: faults[0].nodes[0]: ")
    assert line.endswith(" (with --over devices[0].count=2 --over evaluate.every=5)")


def test_the_folder_is_named_by_scenario_and_grid_but_not_by_seeds(file: Path) -> None:
    name = folder_name(rates(file, 0.1, 0.2))
    assert name.startswith("pair-")
    assert folder_name(rates(file, 0.1, 0.2, seeds=3)) == name
    others = [
        rates(file, 0.1),
        rates(file, 0.1, 0.3),
        Grid(file, over=("seed=4",)).points(),
        Grid(file, ("stop.updates=41",), ("training.learning_rate=0.1,0.2",)).points(),
    ]
    assert len({name, *map(folder_name, others)}) == 5


@pytest.mark.parametrize("label", ["a/b", ".hidden", "..", "ü", "x" * 300, "{kind: topk}", "a\nb"])
def test_any_label_becomes_a_folder_of_its_own(file: Path, label: str) -> None:
    scenario = load(file)
    name = Point(label, scenario).name
    assert "/" not in name and not name.startswith(".") and len(name.encode()) < 256
    assert name != Point(f"{label}'", scenario).name
    assert Point(name, scenario).name == name


# -- playing -------------------------------------------------------------------------------------


def test_a_sweep_is_one_folder_and_one_table(
    file: Path, tmp_path: Path, played: Callable[[], list[str]]
) -> None:
    out, view = tmp_path / "out", Watching()
    points = rates(file, 0.1, DIVERGES)
    finished = sweep(points, out, 2, view, about={"file": "pair.yaml"}, command=MADE_UP)
    assert [one.label for one in finished] == [point.label for point in points]
    assert sorted(view.said) == sorted(one.label for one in finished)
    assert sorted(path.name for path in out.iterdir()) == ["points", "sweep.json", "table.csv"]
    for one in finished:
        assert one.folder == out / "points" / one.label
        assert {"run.jsonl", "summary.json", "scenario.yaml", NOTE} <= {
            path.name for path in one.folder.iterdir()
        }
    about = json.loads((out / "sweep.json").read_bytes())
    assert about["file"] == "pair.yaml"
    assert about["points"] == {one.label: f"points/{one.label}" for one in finished}
    with (out / "table.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    assert [(row["training.learning_rate"], row["seed"]) for row in rows] == [
        ("0.1", "4"),
        ("10", "4"),
    ]
    assert [(row["outcome"], row["stop"]) for row in rows] == [
        ("success", "updates"),
        ("failed", "diverged"),
    ]
    for row, one in zip(rows, finished, strict=True):
        as_text = {key: "" if value is None else str(value) for key, value in one.row.items()}
        assert row == as_text


@pytest.mark.slow
def test_finished_points_are_not_played_again(
    file: Path, tmp_path: Path, played: Callable[[], list[str]]
) -> None:
    first = made_up(rates(file, 0.1, DIVERGES), tmp_path / "out")
    assert made_up(rates(file, 0.1, DIVERGES), tmp_path / "out") == first
    assert played() == ["0.1 4", "10 4"]
    more = made_up(rates(file, 0.1, seeds=2), tmp_path / "out", cores=1)
    assert played() == ["0.1 4", "0.1 5", "10 4"]
    assert more[0] == first[0]


def test_points_come_from_anywhere(
    file: Path, tmp_path: Path, played: Callable[[], list[str]]
) -> None:
    points = [
        Point("a thing / or two", load(file), {"which": "file"}),
        Point("b", loads(SCENARIO.replace("seed: 4", "seed: 8"))),
    ]
    rows = [one.row for one in made_up(points, tmp_path / "out")]
    assert [(row["point"], row.get("which"), row["seed"]) for row in rows] == [
        ("a thing / or two", "file", 4),
        ("b", None, 8),
    ]
    with (tmp_path / "out" / "table.csv").open() as lines:
        assert [row["which"] for row in csv.DictReader(lines)] == ["file", ""]
    with pytest.raises(ValueError, match="two points are called 'b'"):
        made_up([points[1], points[1]], tmp_path / "out")


def test_what_another_scenario_gave_is_neither_taken_nor_removed(
    file: Path, tmp_path: Path, played: Callable[[], list[str]]
) -> None:
    (one,) = made_up(rates(file, 0.1), tmp_path / "out")
    file.write_text(SCENARIO.replace("1mbit", "2mbit"))
    with pytest.raises(EmulatorError, match=rf"(?s)name another folder.*\n{one.folder}$"):
        made_up(rates(file, 0.1, 0.2), tmp_path / "out")
    assert (one.folder / "run.jsonl").is_file()
    assert played() == ["0.1 4"]


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
            pids.update(filter(None, [_hanging(out)]))

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


def test_two_sweeps_do_not_share_a_folder(
    file: Path, tmp_path: Path, played: Callable[[], list[str]]
) -> None:
    out = tmp_path / "out"

    class Second(Watching):
        def finished(self, one: Finished, now: Standing) -> None:
            with pytest.raises(EmulatorError, match="another sweep is being played into"):
                made_up(rates(file, 0.2), out)
            super().finished(one, now)

    view = Second()
    made_up(rates(file, 0.1), out, view=view)
    assert view.said == ["training.learning_rate=0.1,seed=4"]


# -- virtual time --------------------------------------------------------------------------------


@pytest.mark.slow
def test_any_number_of_cores_gives_the_same_bytes(file: Path, tmp_path: Path) -> None:
    points = Grid(file, over=("devices[0].count=2,3",)).points()
    by_cores = [sweep(points, tmp_path / str(cores), cores, Watching()) for cores in (1, 2)]
    for one, other in zip(*by_cores, strict=True):
        assert one.row == other.row
        assert one.row["outcome"] == "success" and one.row["updates"] == 40
        log = (one.folder / "run.jsonl").read_bytes()
        assert log == (other.folder / "run.jsonl").read_bytes()
    assert log != (by_cores[0][0].folder / "run.jsonl").read_bytes()


@pytest.mark.slow
@pytest.mark.skipif(
    not (datasets.store.folder("digits") / "test-labels.npy").is_file(),
    reason="digits is not here: run `make data`",
)
def test_what_diverges_is_a_result(file: Path, tmp_path: Path) -> None:
    file.write_text(SCENARIO.replace("learner: none", "learner: numpy"))
    over = ("training.learning_rate=0.1,1e30",)
    points = Grid(file, ("evaluate.every=20",), over).points()
    good, bad = (one.row for one in sweep(points, tmp_path / "out", 2, Watching()))
    assert (good["outcome"], good["updates"]) == ("success", 40)
    assert good["final_accuracy"] > 0.1
    assert (bad["outcome"], bad["stop"]) == ("failed", "diverged")


def test_what_takes_data_to_see_is_seen_before_anything_is_played(
    file: Path, tmp_path: Path, played: Callable[[], list[str]], data: None
) -> None:
    file.write_text(SCENARIO.replace("learner: none", "learner: numpy"))
    points = Grid(file, over=("devices[0].count=2,30,40",)).points()
    with pytest.raises(ScenarioError) as refused:
        made_up(points, tmp_path / "out")
    lines = str(refused.value).splitlines()
    assert [line.partition(": training.split: iid leaves near-0 ")[0] for line in lines] == [
        "devices[0].count=30,seed=4",
        "devices[0].count=40,seed=4",
    ]
    assert played() == []


def test_the_page_shows_how_to_do_it_in_python(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from emulator import sweep as package

    def kept(points: list[Point], out: Path, **options: Any) -> list[Finished]:
        return [Finished(point.label, out, dict(point.values)) for point in points]

    monkeypatch.setattr(package, "sweep", kept)
    monkeypatch.chdir(ROOT)
    (code,) = blocks(ROOT / "docs" / "sweep.md", "python")
    names: dict[str, Any] = {}
    exec(code, names)
    assert {"scenario": "quickstart"} in names["rows"]


# -- ends that nobody wished for -----------------------------------------------------------------

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
        pid = until(lambda: conductor.poll() is None and _hanging(out))
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


def _hanging(out: Path) -> int:
    """The process that plays a point which never ends; 0 if it does not yet."""
    return next((int(path.read_text() or 0) for path in out.glob(".playing/*/pid")), 0)


# -- how far -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_how_far_it_is(file: Path, tmp_path: Path, played: Callable[[], list[str]]) -> None:
    view = Watching()
    made_up(rates(file, 0.1, 0.2), tmp_path / "out", cores=1, view=view)
    told = [(now.finished, *now.playing) for now in view.standings]
    assert (1, ("training.learning_rate=0.2,seed=4", "20 of 40 updates")) in told
    assert {now.total for now in view.standings} == {2}
    guesses = [now.left for now in view.standings if now.left is not None]
    assert guesses and all(0 <= guess < 60 for guess in guesses)
    assert view.standings[-1] == Standing(2, 2, (), 0.0)


def test_plain_lines_for_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    clock = iter([0.0, 1.0, 31.0, 31.0, 32.0])
    with PlainView(Console(), clock=lambda: next(clock)) as view:
        view.progress("6 points into runs/sweeps/pair-1")
        now = Standing(6, 1, (("devices[0].count=2,seed=1", "20 of 40 updates"),), 100.0)
        for _ in range(3):
            view.standing(now)
        row = {"final_accuracy": 0.5, "updates": 40, "outcome": "failed", "stop": "diverged"}
        view.finished(Finished("devices[0].count=2,seed=1", Path(), row), now)
    assert capsys.readouterr().out.splitlines() == [
        "6 points into runs/sweeps/pair-1 ...",
        "1 of 6 points finished, about 2 min left; devices[0].count=2,seed=1: 20 of 40 updates",
        "1/6  devices[0].count=2,seed=1: 50.00% after 40 updates, failed (diverged)",
    ]


@pytest.mark.parametrize(
    "seconds, text", [(0.4, "0 s"), (99, "99 s"), (150, "2 min"), (12_060, "3 h 21 min")]
)
def test_spans(seconds: float, text: str) -> None:
    assert span(seconds) == text


# -- the table -----------------------------------------------------------------------------------


def test_what_an_accuracy_cost_is_what_the_comparison_says(tmp_path: Path) -> None:
    folder = Synthetic(devices=4, updates=2500, faults=[]).write(tmp_path / "long")
    summary = json.loads((folder / "summary.json").read_bytes()) | {"stop": "updates"}
    (folder / "summary.json").write_text(json.dumps(summary))
    evaluations = [
        {"at": at, "what": "evaluation", "updates": n, "accuracy": share, "push_bytes": 100 * n}
        for at, n, share in ((1.0, 1, 0.5), (2.5, 2, 0.95), (3.5, 3, None), (4.0, 4, 0.91))
    ]
    by_hand = written(tmp_path / "short", evaluations, summary=summary).folder
    for one in (folder, by_hand):
        (said,) = comparing.rows(comparing.compare([comparing.read(one)]))
        found = tables.facts(one)
        costs = {name: found[name] for name in found if "_to_" in name}
        assert costs == {name: said[name] for name in said if "_to_" in name}
        assert any(costs.values())
    assert found["updates_to_95"] == 2
    assert found["bytes_to_97"] is None


def test_medians_over_seeds() -> None:
    def row(rate: str, accuracy: float | None, reached: int | None, outcome: str) -> dict[str, Any]:
        size = reached and 10 * reached
        return {
            "rate": rate,
            "outcome": outcome,
            "final_accuracy": accuracy,
            "updates_to_97": reached,
            "bytes_to_97": size,
        }

    rows = [
        row("1", 0.98, 300, "success"),
        row("2", 0.90, None, "success"),
        row("1", 0.97, 500, "success"),
        row("2", None, None, "failed"),
        row("1", 0.96, None, "success"),
    ]
    (first, one), (second, other) = medians(rows, ["rate"])
    assert (first, second) == ({"rate": "1"}, {"rate": "2"})
    assert one == {
        "outcomes": {"success": 3},
        "final_accuracy": (0.97, 0.96, 0.98),
        "updates_to_97": (500, 300, math.inf),
        "bytes_to_97": (5000, 3000, math.inf),
    }
    assert other["outcomes"] == {"success": 1, "failed": 1}
    assert other["final_accuracy"] == (0.9, 0.9, 0.9)
    assert other["updates_to_97"] == (math.inf, math.inf, math.inf)
    assert medians([row("1", None, None, "success")], [])[0][1]["bytes_to_97"] is None


# -- the command ---------------------------------------------------------------------------------


def typed(emulate: Emulate, monkeypatch: pytest.MonkeyPatch, *words: object) -> Any:
    from emulator import sweep as package

    def in_no_time(points: Any, out: Path, cores: int, view: Any, **about: Any) -> list[Finished]:
        return sweep(points, out, cores, view, **about, command=MADE_UP)

    with monkeypatch.context() as patched:
        patched.setattr(package, "sweep", in_no_time)
        return emulate("sweep", *words)


@pytest.mark.slow
def test_the_command(
    emulate: Emulate,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    played: Callable[[], list[str]],
) -> None:
    words = (file, "--over", "training.learning_rate=0.1,10", "--seeds", 2, "--cores", 2)
    told = typed(emulate, monkeypatch, *words)
    assert told.code == 0, told.err
    (out,) = Path("runs/sweeps").iterdir()
    lines = told.out.splitlines()
    assert lines[0] == f"4 points into {out} ..."
    title = lines.index(next(line for line in lines if line.startswith("median of 2 seeds")))
    assert lines[title + 1].split("  ")[0] == "training.learning_rate"
    assert [line.split()[:2] for line in lines[title + 2 : title + 4]] == [
        ["0.1", "success"],
        ["10", "failed"],
    ]
    assert lines[-1] == f"table        {out}/table.csv"
    again = typed(emulate, monkeypatch, *words, "--json")
    assert len(played()) == 4
    assert [row["outcome"] for row in again.json] == ["success"] * 2 + ["failed"] * 2
    assert all((Path(row["run"]) / "run.jsonl").is_file() for row in again.json)
    assert again.err == f"4 points into {out} ...\n"
    about = json.loads((out / "sweep.json").read_bytes())
    assert about["over"] == {"training.learning_rate": ["0.1", "10"]}
    assert (about["file"], about["set"], about["seeds"]) == (str(file), [], 2)


@pytest.mark.slow
def test_other_commands_are_not_confused(
    emulate: Emulate,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    played: Callable[[], list[str]],
) -> None:
    typed(emulate, monkeypatch, file)
    assert folders(Path("runs")) == []
    assert emulate("list", "--json").json == []
    for name in ("sweeps", "pair", "abc123"):
        assert emulate("report", name).code == 1
    (point,) = Path("runs/sweeps").glob("*/points/*")
    assert emulate("logs", point).code == 0


def test_mistakes_are_told_before_anything_is_made(emulate: Emulate, file: Path) -> None:
    told = emulate("sweep", file, "--over", "training.learning_rate=0.1,-1")
    assert told.code == 2
    assert told.err.startswith("--over training.learning_rate=-1: training.learning_rate: ")
    assert not Path("runs").exists()


def test_ctrl_c_says_how_to_go_on(
    emulate: Emulate,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    played: Callable[[], list[str]],
) -> None:
    class Impatient(Watching):
        def standing(self, now: Standing) -> None:
            signal.raise_signal(signal.SIGINT)

        def __enter__(self) -> "Impatient":
            return self

        def __exit__(self, *error: object) -> None:
            pass

    monkeypatch.setattr(sys.modules["emulator.cli.sweep"], "_view", lambda to_stderr: Impatient())
    words = (file, "--over", f"training.learning_rate={HANGS:g}", "--out", "here")
    told = typed(emulate, monkeypatch, *words)
    assert told.code == 130
    assert told.err == (
        "emulate: interrupted: what is finished is in here; the same command goes on there\n"
    )
    assert sorted(path.name for path in Path("here").iterdir()) == [
        "points",
        "sweep.json",
        "table.csv",
    ]


def test_it_is_listed_after_run() -> None:
    names = list(commands.commands)
    assert names.index("sweep") == names.index("run") + 1
