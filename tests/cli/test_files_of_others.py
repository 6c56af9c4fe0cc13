"""No command replaces or removes a file that `emulate` did not make, nor writes through a link."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from emulator.errors import HostError
from emulator.log.tensorboard.event_files import EventFile
from emulator.machine.made_files import filling
from emulator.runs import folder as run_folder
from emulator.runtimes.docker.configs import compose_file
from emulator.scenario import loads
from tests.fakes.typed_commands import Emulate
from tests.fakes.virtual_world import SCENARIO
from tests.learning.datasets.own.given import digits

PRECIOUS = "precious\n"

TRACE = "seconds,rate_mbit\n0,1\n10,end\n"
LAB = (
    "name: lab\ntraining: {dataset: ./own.npz, model: digits-mlp, algorithm: asgd}\n"
    "stop: {updates: 5}\ndevices: [{name: home, count: 2}]\n"
    "faults: [{kind: crash, nodes: [home-0], at: 1s}]\n"
)

FIGURES: dict[str, tuple[str, ...]] = {
    "data": ("data", "own.npz"),
    "data --figure": ("data", "own.npz", "--figure", "own-split.png"),
    "data of a scenario": ("data", "lab.yaml", "--figure", "own-split.png"),
    "trace": ("trace", "trace.csv", "--figure", "own-split.png"),
    "plan": ("plan", "lab.yaml", "--figure", "own-split.png"),
    "profiles": ("profiles", "flaky-home", "--figure", "own-split.png"),
}

FOLDERS: dict[str, tuple[str, ...]] = {
    "export csv": ("export", "abc121", "--format", "csv", "--out", "out"),
    "export parquet": ("export", "abc121", "--format", "parquet", "--out", "out"),
    "export tensorboard": ("export", "abc121", "--format", "tensorboard", "--out", "out"),
}


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    np.savez(tmp_path / "own.npz", **digits(writer=np.arange(40) % 4))
    (tmp_path / "lab.yaml").write_text(LAB)
    (tmp_path / "trace.csv").write_text(TRACE)
    return tmp_path


@pytest.mark.mostly_slow
@pytest.mark.parametrize("words", FIGURES.values(), ids=FIGURES)
def test_a_picture_replaces_only_pictures_of_emulate(
    emulate: Emulate, inputs: Path, words: tuple[str, ...]
) -> None:
    picture = inputs / "own-split.png"
    assert emulate(*words).code == 0
    assert emulate(*words).code == 0, "its own picture is drawn again"
    for content in (PRECIOUS, ""):
        picture.write_text(content)
        said = emulate(*words)
        assert said.code == 1 and "own-split.png is there" in said.err, said.err
        assert picture.read_text() == content
    picture.unlink()
    (inputs / "target").write_text(PRECIOUS)
    picture.symlink_to("target")
    assert emulate(*words).code == 1
    assert (inputs / "target").read_text() == PRECIOUS


@pytest.mark.slow
def test_pictures_of_two_functions_have_two_names(emulate: Emulate, inputs: Path) -> None:
    (inputs / "made.py").write_text(
        "import numpy as np\n"
        "def a():\n    x = np.zeros((40, 8, 8), np.uint8)\n    y = np.arange(40) % 4\n"
        "    return {'x_train': x, 'y_train': y, 'x_test': x, 'y_test': y}\n"
        "b = a\n"
    )
    for name in "ab":
        assert emulate("data", f"made.py:{name}").code == 0
    assert {path.name for path in inputs.glob("*.png")} == {"made-a-split.png", "made-b-split.png"}


@pytest.mark.mostly_slow
@pytest.mark.parametrize("words", FOLDERS.values(), ids=FOLDERS)
def test_a_folder_keeps_the_files_of_others(
    emulate: Emulate, runs: Path, words: tuple[str, ...]
) -> None:
    assert runs.is_dir()
    out = runs.parent / "out"
    first = emulate(*words)
    assert first.code == 0, first.err
    assert emulate(*words).code == 0, "its own files are written again"
    made = sorted(path for path in out.iterdir() if not path.name.startswith("."))
    for path in made[:2]:
        before = path.read_bytes()
        path.write_text(PRECIOUS)
        said = emulate(*words)
        assert said.code == 1 and path.name in said.err, said.err
        assert path.read_text() == PRECIOUS
        path.write_bytes(before)
    # the same name in a folder that no command has filled
    for path in made:
        path.write_text(PRECIOUS)
    (out / ".made-by-emulate.json").unlink(missing_ok=True)
    assert emulate(*words).code == 1
    assert {path.read_text() for path in made} == {PRECIOUS}


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, HostError])
@pytest.mark.parametrize("before", ["new", "empty", "filled"])
def test_an_interrupted_command_knows_its_files_and_claims_no_others(
    tmp_path: Path, before: str, error: type[BaseException]
) -> None:
    out, names = tmp_path / "out", ["a.csv", "b.csv", "c.csv"]
    if before == "empty":
        out.mkdir()
    if before == "filled":
        with filling(out, names):
            out.mkdir(exist_ok=True)
            (out / "a.csv").write_text("old")
            (out / "b.csv").write_text("old")
    with pytest.raises(error), filling(out, names):
        out.mkdir(exist_ok=True)
        (out / "a.csv").write_text("half a f")
        raise error
    (out / "c.csv").write_text(PRECIOUS)
    with pytest.raises(HostError, match=r"^c\.csv in"), filling(out, names):
        pytest.fail("a file of the user would be replaced")
    assert (out / "c.csv").read_text() == PRECIOUS
    (out / "c.csv").unlink()
    with filling(out, names):
        (out / "a.csv").write_text("whole")
    (out / "a.csv").write_text(PRECIOUS)
    with pytest.raises(HostError, match=r"^a\.csv in"), filling(out, names):
        pytest.fail("a file of the user would be replaced")


def test_a_command_that_wrote_nothing_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(HostError), filling(tmp_path / "out", ["a.csv"]):
        raise HostError("there is nothing to write")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["error_time.png", "compare.html", "staleness.png"])
def test_a_comparison_keeps_the_files_of_others(emulate: Emulate, runs: Path, name: str) -> None:
    """The runs have no data for the first: a figure without data is removed."""
    out = runs.parent / "out"
    out.mkdir()
    (out / name).write_text(PRECIOUS)
    said = emulate("compare", "abc121", "abc122", "--out", "out")
    assert said.code == 1 and name in said.err
    assert (out / name).read_text() == PRECIOUS


@pytest.mark.parametrize(
    "words",
    [
        ("sweep", "lab.yaml", "--over", "seed=1,2", "--out", "out"),
        ("tune", "lab.yaml", "--out", "out"),
        ("study", "pulls", "--out", "out"),
    ],
    ids=lambda words: words[0],
)
def test_grids_of_runs_are_played_into_folders_of_their_own(
    emulate: Emulate, inputs: Path, data: None, words: tuple[str, ...]
) -> None:
    for name in ("table.csv", ".playing/notes", "points/a", "study.json"):
        file = inputs / "out" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(PRECIOUS)
        said = emulate(*words)
        assert said.code == 1 and "not made by this command" in said.err, (said.out, said.err)
        assert file.read_text() == PRECIOUS


@pytest.mark.parametrize("name", ["server/app.py", ".work/a", "run.jsonl", "scenario.yaml", "x"])
def test_compose_refuses_a_folder_of_others(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(PRECIOUS)
    with pytest.raises(HostError, match="not empty, and was not made by this command"):
        compose_file.lay_down(loads(SCENARIO), tmp_path)
    assert file.read_text() == PRECIOUS


def test_compose_never_replaces_the_file_that_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from emulator.machine.made_files import claim

    claim(tmp_path / "out", "compose")
    given = tmp_path / "out" / "scenario.yaml"
    given.write_text(SCENARIO)
    with pytest.raises(HostError, match="would be replaced"):
        compose_file.lay_down(loads(SCENARIO), tmp_path / "out", given)
    assert given.read_text() == SCENARIO


@pytest.mark.parametrize("command", ["report", "export", "compare"])
def test_a_folder_of_scenarios_is_no_run(emulate: Emulate, inputs: Path, command: str) -> None:
    (inputs / "lab.yaml").rename(inputs / "scenario.yaml")
    for name in (".work/secret", "server/run.jsonl", "reports.jsonl"):
        (inputs / name).parent.mkdir(exist_ok=True)
        (inputs / name).write_text(PRECIOUS)
    more = ("--format", "csv") if command == "export" else ()
    said = emulate(command, ".", *more)
    assert said.code == 1 and "no run '.'" in said.err
    for name in (".work/secret", "server/run.jsonl", "reports.jsonl"):
        assert (inputs / name).read_text() == PRECIOUS


def test_the_link_to_the_latest_run_replaces_no_file(tmp_path: Path) -> None:
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "latest").write_text(PRECIOUS)
    run_folder.create("lab", tmp_path)
    assert (tmp_path / "lab" / "latest").read_text() == PRECIOUS


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_an_installed_script_replaces_no_other(
    emulate: Emulate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    for variable in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))
    said = emulate("completion", shell, "--install")
    file = Path(said.out.split()[1])
    assert emulate("completion", shell, "--install").code == 0
    file.write_text(PRECIOUS)
    said = emulate("completion", shell, "--install")
    assert said.code == 1 and "was not made by `emulate`" in said.err
    assert file.read_text() == PRECIOUS


@pytest.mark.parametrize("words", [("schema", "--install"), ("new", "lab")])
def test_the_schema_replaces_no_other_file(
    emulate: Emulate, tmp_path: Path, words: tuple[str, ...]
) -> None:
    file = tmp_path / "cache" / "scenario.schema.json"
    file.parent.mkdir()
    file.write_text(PRECIOUS)
    assert emulate(*words).code == 1
    assert file.read_text() == PRECIOUS


def test_events_replace_no_other_file(tmp_path: Path) -> None:
    file = tmp_path / "events.out.tfevents.5.run"
    file.write_text(PRECIOUS)
    with pytest.raises(OSError):
        EventFile(tmp_path, "run", 7.0)
    assert file.read_text() == PRECIOUS


# -- links in the folder of a stranger's run ----------------------------------------------------

Plant = Callable[[Path, Path], None]


def _linked(name: str) -> Plant:
    def plant(run: Path, target: Path) -> None:
        (run / name).unlink(missing_ok=True)
        (run / name).symlink_to(target)

    return plant


@pytest.mark.parametrize(
    "name", ["report.html", "conductor.pid", "resume.pid", "figures", "model.npz", "csv", "server"]
)
@pytest.mark.parametrize("command", ["report", "resume", "export"])
def test_no_command_writes_through_a_link(
    emulate: Emulate, runs: Path, command: str, name: str
) -> None:
    run = (runs / "synthetic" / "latest").resolve()
    target = runs.parent / "target"
    if name in ("figures", "csv", "server"):
        target.mkdir()
        (target / "run.jsonl").write_text(PRECIOUS)
    else:
        target.write_text(PRECIOUS)
    _linked(name)(run, target)
    before = {path: path.read_bytes() for path in target.rglob("*")} or target.read_bytes()
    said = emulate(command, "synthetic", *(("--format", "csv") if command == "export" else ()))
    assert said.code == 1 and f"{name} is a link" in said.err, said.err
    assert before == (
        {path: path.read_bytes() for path in target.rglob("*")} or target.read_bytes()
    )


@pytest.mark.parametrize("name", ["run.jsonl", "summary.json", "manifest.json", "conductor.pid"])
@pytest.mark.parametrize("command", ["report", "resume"])
def test_a_pipe_in_a_run_folder_is_refused(
    emulate: Emulate, runs: Path, command: str, name: str
) -> None:
    run = (runs / "synthetic" / "latest").resolve()
    (run / name).unlink(missing_ok=True)
    os.mkfifo(run / name)
    said = emulate(command, "synthetic")
    assert said.code == 1 and f"{name} is a pipe" in said.err, said.err
