"""What one types and what one is told, short of containers."""

import gc
import json
import re
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from emulator import datasets, doctor, laws
from emulator.cli import commands, main
from emulator.datasets.examples import Examples
from emulator.datasets.store import save
from emulator.errors import HostError
from emulator.folder import conductor as find_conductor
from emulator.host import Host
from emulator.units import Seconds

from .synthetic_run import Synthetic

ROOT = Path(__file__).parents[1]
NAMES = sorted(commands.commands)


class Said(NamedTuple):
    """What a command left on the terminal."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Emulate = Callable[..., Said]


@pytest.fixture
def emulate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Emulate:
    """Types a command in an empty folder of a machine with neither engine nor data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    monkeypatch.setenv("EMULATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "100")

    def typed(*words: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["emulate", *map(str, words)])
        try:
            main()
            code: Any = 0
        except SystemExit as ended:
            code = ended.code or 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()  # where no engine answers, docker leaves its socket to the collector
        return Said(code, *capsys.readouterr())

    return typed


SCENARIO = """# Does it say what is wrong?
name: pair
training: {dataset: digits, model: digits-mlp, algorithm: adacomp}
stop: {updates: 100}
devices:
  - {name: near, count: 3, profile: phone}
  - {name: far, link: {up: {rate: 1mbit}}}
faults:
  - {kind: crash, nodes: [far], at: 60s}
"""


def scenario(tmp_path: Path, *changes: tuple[str, str]) -> Path:
    text = SCENARIO
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file = tmp_path / "pair.yaml"
    file.write_text(text)
    return file


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Images, as if they had been fetched."""
    labels = np.arange(200, dtype=np.uint8) % 10
    some = Examples(np.zeros((200, 8, 8), np.uint8), labels, 16)
    monkeypatch.setattr(datasets, "load", lambda name: datasets.Dataset(name, some, some))


# -- help ------------------------------------------------------------------------------------------


def test_the_commands_at_a_glance(emulate: Emulate) -> None:
    told = emulate("--help")
    assert told.code == 0
    listed = told.out.partition("Commands:\n")[2].splitlines()
    assert sorted(line.split()[0] for line in listed) == NAMES
    assert not any("..." in line for line in listed)
    assert all(len(line) <= 80 and line.endswith((".", "?")) for line in listed)
    assert emulate("-h").out == told.out


@pytest.mark.parametrize("name", NAMES)
def test_each_command_teaches_its_use(emulate: Emulate, name: str) -> None:
    told = emulate(name, "--help")
    assert told.code == 0
    for option in re.findall(r"^  (-.*)$", told.out, re.MULTILINE):
        assert re.search(r"\S  +\S", option) or option.endswith(("ID", "FOLDER")), option
    if name not in ("node", "doctor"):
        assert re.search(rf"^  emulate {name}\b", told.out, re.MULTILINE), "no example"


def test_the_entry_point(tmp_path: Path) -> None:
    command = [Path(sys.executable).with_name("emulate"), "--version"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert re.fullmatch(r"emulate, version \d+\.\d+\.\d+\n", done.stdout)


@pytest.mark.parametrize("words", [("fly",), ("run",), ("check", "a", "b"), ("list", "--fast")])
def test_a_slip_of_the_fingers(emulate: Emulate, words: tuple[str, ...]) -> None:
    told = emulate(*words)
    assert told.code == 2
    assert "Usage: emulate" in told.err


def test_a_node_is_nothing_for_the_host(emulate: Emulate) -> None:
    told = emulate("node")
    assert told.code == 1
    assert told.err.startswith("emulate: there is no /etc/emulate/node.json")


# -- check -----------------------------------------------------------------------------------------


def test_a_good_file_is_shown_resolved(emulate: Emulate, tmp_path: Path) -> None:
    told = emulate("check", scenario(tmp_path))
    assert (told.code, told.err) == (0, "")
    for words in (
        "digits-mlp on digits",
        "algorithm: adacomp",
        "until: 100 updates",
        "near-0 … near-2",
        "25%",
        "1mbit",
        "60.0 s",
        "for good",
        "this host can carry it",
    ):
        assert words in told.out, words


def test_a_good_file_for_scripts(emulate: Emulate, tmp_path: Path) -> None:
    told = emulate("check", "--json", scenario(tmp_path), "--set", "devices[0].count=4")
    assert told.code == 0
    assert [device["name"] for device in told.json["devices"]] == [
        *(f"near-{number}" for number in range(4)),
        "far",
    ]
    assert told.json["faults"] == [{"at": 60.0, "until": None, "node": "far", "fault": "crash"}]
    assert told.json["demand"]["ports"] == 7
    assert told.json["shortfalls"] == []
    assert told.json["host"].keys() == {"name", "cores", "memory", "available"}


def test_every_mistake_with_its_place(emulate: Emulate, tmp_path: Path) -> None:
    file = scenario(
        tmp_path,
        ("rate: 1mbit", "rate: 10Mbps"),
        ("nodes: [far]", "nodes: [fra]"),
        ("model: digits-mlp", "model: digits-mpl"),
    )
    told = emulate("check", file)
    assert (told.code, told.out) == (2, "")
    lines = told.err.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith(f"{file}:3: training.model: ")
    assert lines[1].startswith(f"{file}:7: devices[1].link.up.rate: '10Mbps': write 10mbit")
    assert lines[2].startswith(f"{file}:9: faults[0].nodes[0]: ")
    assert "did you mean 'far'?" in lines[2]


def test_a_host_that_is_too_small(emulate: Emulate, tmp_path: Path) -> None:
    told = emulate("check", scenario(tmp_path, ("profile: phone", "profile: {memory: 9000GiB}")))
    assert told.code == 1
    assert "error memory: one device may take 9000GiB" in told.out
    assert "this host can carry it" not in told.out


def test_a_long_table_says_that_it_is_cut(emulate: Emulate, tmp_path: Path) -> None:
    links = [f"  - {{name: d{n}, link: {{up: {{rate: {n + 1}mbit}}}}}}" for n in range(60)]
    file = scenario(tmp_path, ("faults:", "\n".join([*links, "faults:"])))
    assert "… 22 more (--json shows all)" in emulate("check", file).out
    assert len(emulate("check", file, "--json").json["devices"]) == 64


def test_the_schema_is_for_editors(emulate: Emulate) -> None:
    assert emulate("schema").json["properties"].keys() >= {"name", "training", "devices"}


# -- what stops a run before anything is made ------------------------------------------------------


def refused(emulate: Emulate, file: Path, *words: object) -> Said:
    told = emulate("run", file, *words)
    assert told.code != 0
    assert "Traceback" not in told.err
    assert not (Path.cwd() / "runs").exists()
    return told


@pytest.mark.parametrize(
    "change, words",
    [
        (("model: digits-mlp", "model: lenet"), "training.model: 'lenet' is not"),
        (("profile: phone", "profile: fone"), "devices[0].profile: 'fone' is no device profile"),
        (("at: 60s", "at: 60"), "faults[0].at: 60 has no unit"),
        (("name: far,", "name: near,"), "devices[1].name: 'near' is the name of devices[0] too"),
        (("nodes: [far]", "nodes: [sun]"), "faults[0].nodes[0]: 'sun' is no device"),
    ],
)
def test_a_file_that_is_wrong(
    emulate: Emulate, tmp_path: Path, change: tuple[str, str], words: str
) -> None:
    told = refused(emulate, scenario(tmp_path, change))
    assert told.code == 2
    assert words in told.err


@pytest.mark.parametrize("name", ["nowhere.yaml", "."])
def test_a_file_that_is_not_there(emulate: Emulate, tmp_path: Path, name: str) -> None:
    told = refused(emulate, tmp_path / name)
    assert told.code == 2
    assert "cannot be read" in told.err


def test_missing_data(emulate: Emulate, tmp_path: Path) -> None:
    told = refused(emulate, scenario(tmp_path))
    assert told.code == 1
    assert told.err.startswith("emulate: digits is not here: run `make data`")


def test_damaged_data(emulate: Emulate, tmp_path: Path) -> None:
    about = datasets.DATASETS["digits"]
    save("digits", {part: np.zeros(about.shape(part), np.uint8) for part in about.parts})
    told = refused(emulate, scenario(tmp_path))
    assert told.code == 1
    assert re.search(r"digits/train-images.npy is damaged: .*run `make data`", told.err)


def test_too_little_data(emulate: Emulate, tmp_path: Path, data: None) -> None:
    told = refused(emulate, scenario(tmp_path), "--set", "devices[0].count=30")
    assert told.code == 2
    assert re.match(r"training.split: iid leaves near-0 \(6\), .* without a batch of 10", told.err)


def test_more_memory_than_there_is(emulate: Emulate, tmp_path: Path, data: None) -> None:
    told = refused(emulate, scenario(tmp_path, ("profile: phone", "profile: {memory: 9000GiB}")))
    assert told.code == 1
    assert "this host cannot carry the scenario:\nmemory: one device may take 9000GiB" in told.err


def test_no_engine(emulate: Emulate, tmp_path: Path, data: None) -> None:
    told = refused(emulate, scenario(tmp_path))
    assert told.code == 1
    assert told.err.startswith("emulate: no Docker engine answers at unix:///nonexistent/docker.s")
    assert "images/engine" in told.err


def test_nowhere_to_write(
    emulate: Emulate, tmp_path: Path, data: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from emulator.runtimes.docker import session
    from emulator.shaping.backend import Backend

    monkeypatch.setattr(session, "connect", lambda: None)
    monkeypatch.setattr(session.image, "require", lambda client: session.image.NodeImage("1", {}))
    monkeypatch.setattr(session, "backend_for", lambda *anything: Backend())
    monkeypatch.setattr(session, "exported", lambda model: tmp_path)
    (tmp_path / "file").touch()
    told = refused(emulate, scenario(tmp_path), "--runs", "file/runs")
    assert told.code == 1
    assert told.err.startswith("emulate: cannot write the run folder file/runs/pair/")
    assert (tmp_path / "file").read_bytes() == b""


@pytest.mark.parametrize("words", [("clean",), ("doctor",), ("doctor", "--json")])
def test_without_an_engine_others_say_so_too(emulate: Emulate, words: tuple[str, ...]) -> None:
    told = emulate(*words)
    assert told.code == 1
    assert "no Docker engine answers" in told.out + told.err
    assert "Traceback" not in told.err


# -- a run that went -------------------------------------------------------------------------------


def played(
    emulate: Emulate, monkeypatch: pytest.MonkeyPatch, *words: object, **facts: object
) -> Said:
    """`emulate run`, where the run takes no time and ends like this."""
    from emulator.runtimes.docker import session

    folder = Synthetic(devices=2, updates=30).write(Path.cwd() / "runs" / "pair" / "1-abc123")
    summary = json.loads((folder / "summary.json").read_text())
    summary |= {"stop": "updates", "detail": "", **facts}
    monkeypatch.setattr(session, "play", lambda *anything: (folder, summary))
    return emulate("run", scenario(Path.cwd()), *words)


@pytest.mark.parametrize(
    "outcome, code", [("success", 0), ("stopped", 0), ("canceled", 130), ("failed", 1)]
)
def test_the_exit_code_is_the_outcome(
    emulate: Emulate, monkeypatch: pytest.MonkeyPatch, outcome: str, code: int
) -> None:
    told = played(emulate, monkeypatch, "--no-report", outcome=outcome, stop=outcome)
    assert told.code == code
    assert f"outcome      {outcome}\n" in told.out
    assert "run          runs/pair/1-abc123\n" in told.out


def test_a_doubtful_run_says_so(emulate: Emulate, monkeypatch: pytest.MonkeyPatch) -> None:
    doubts = {"reasons": ["a fault came 0.60 s after its time"]}
    told = played(emulate, monkeypatch, "--no-report", fidelity=doubts)
    assert "WARNING      the host did not keep up: a fault came 0.60 s" in told.out


def test_a_run_for_scripts(emulate: Emulate, monkeypatch: pytest.MonkeyPatch) -> None:
    told = played(emulate, monkeypatch, "--json", "--no-report")
    assert told.json["updates"] == 30
    assert Path(told.json["run"]).is_dir()


# -- runs as they are and were ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, the second unlike the first."""
    runs = tmp_path_factory.mktemp("synthetic") / "runs"
    for number, algorithm in enumerate(("adacomp", "asgd"), 1):
        folder = runs / "synthetic" / f"2025010{number}T120000Z-abc12{number}"
        Synthetic(devices=2, updates=400, algorithm=algorithm, faults=[]).write(folder)
        (folder / "devices").mkdir()
        (folder / "devices" / "fiber-0.log").write_text("hello\nworld\n")
    (runs / "synthetic" / "latest").symlink_to("20250102T120000Z-abc122")
    return runs


@pytest.fixture
def runs(synthetic: Path, tmp_path: Path) -> Path:
    """A copy of them, at the usual place."""
    return Path(shutil.copytree(synthetic, tmp_path / "runs", symlinks=True))


def test_no_runs(emulate: Emulate) -> None:
    assert "no runs in runs/: `emulate run" in emulate("list").out
    assert emulate("list", "--json").json == []


def test_the_runs_in_a_table(emulate: Emulate, runs: Path) -> None:
    unfinished = runs / "synthetic" / "20250103T120000Z-abc123"
    unfinished.mkdir()
    for folder in (unfinished, runs / "other" / "20250104T000000Z-ffffff"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "scenario.yaml").touch()
    (folder / "summary.json").write_text("{")
    told = emulate("list")
    rows = [line.split() for line in told.out.splitlines()]
    assert [(row[0], row[4]) for row in rows[1:]] == [
        ("abc121", "success"),
        ("abc122", "success"),
        ("abc123", "unfinished"),
        ("ffffff", "unreadable"),
    ]
    assert rows[1][1:4] == ["synthetic", "2025-01-01", "12:00"]
    assert "…" not in told.out
    listed = emulate("list", "--json").json
    assert [one["outcome"] for one in listed] == [row[4] for row in rows[1:]]
    assert listed[0]["run"] == "synthetic/20250101T120000Z-abc121"
    assert listed[0]["updates"] == 400


def test_what_happened(emulate: Emulate, runs: Path) -> None:
    lines = emulate("logs", "abc121").out.splitlines()
    assert any(re.search(r"accuracy \d+\.\d+% after 200 updates", line) for line in lines)
    assert "stop: updates" in lines[-1] or "traffic" in lines[-1]
    assert emulate("logs", "abc121", "--follow").out.splitlines() == lines


def test_what_a_device_printed(emulate: Emulate, runs: Path) -> None:
    assert emulate("logs", "synthetic", "fiber-0").out == "hello\nworld\n"
    told = emulate("logs", "synthetic", "fibre-0")
    assert told.code == 1
    assert "has no log of 'fibre-0'; it has fiber-0" in told.err


@pytest.mark.parametrize("command", ["logs", "stop", "report", "compare"])
def test_a_run_that_is_not_there(emulate: Emulate, runs: Path, command: str) -> None:
    told = emulate(command, "synthetik")
    assert told.code == 1
    assert told.err.startswith(
        "emulate: no run 'synthetik' in runs/ (did you mean 'synthetic'?): give a run's folder"
    )


def test_a_run_that_is_over_cannot_be_stopped(emulate: Emulate, runs: Path) -> None:
    told = emulate("stop", "synthetic")
    assert told.code == 1
    assert "is not running (`emulate clean`" in told.err


def conducts(process: "subprocess.Popen[bytes]", folder: Path) -> None:
    """Wait until the process is known for what it is: its command line takes a moment."""
    (folder / "conductor.pid").write_text(str(process.pid))
    until = time.monotonic() + 10
    while find_conductor(folder) is None and time.monotonic() < until:
        time.sleep(0.01)


CONDUCTOR = """
import pathlib, signal, sys
folder = pathlib.Path(sys.argv[1])
def stop(number, frame):
    text = (folder / "summary.json.later").read_text().replace("success", "stopped")
    (folder / "summary.json").write_text(text)
    (folder / "conductor.pid").unlink()
    sys.exit()
signal.signal(signal.SIGUSR1, stop)
(folder / "ready").touch()
signal.pause()
"""


def test_a_run_that_is_being_played(emulate: Emulate, runs: Path) -> None:
    folder = (runs / "synthetic" / "latest").resolve()
    (folder / "summary.json").rename(folder / "summary.json.later")
    (folder / "server").mkdir()
    (folder / "run.jsonl").rename(folder / "server" / "run.jsonl")
    command = [sys.executable, "-c", CONDUCTOR, str(folder), "emulate"]
    with subprocess.Popen(command) as conductor:
        conducts(conductor, folder)
        until = time.monotonic() + 10
        while not (folder / "ready").exists() and time.monotonic() < until:
            time.sleep(0.01)
        assert emulate("list", "--json").json[-1]["outcome"] == "running"
        assert "after 400 updates" in emulate("logs", "synthetic").out
        told = emulate("report", "synthetic")
        assert told.code == 1
        assert "is still running: `emulate logs -f synthetic` follows it" in told.err
        told = emulate("stop", "synthetic")
        assert conductor.wait(10) == 0
    assert told.code == 0
    assert told.out.endswith("outcome      stopped\n")


def test_a_run_is_followed_to_its_end(emulate: Emulate, runs: Path) -> None:
    """Also over the moment at which the server's log becomes part of the whole one."""
    folder = (runs / "synthetic" / "latest").resolve()
    whole = (folder / "run.jsonl").read_text().splitlines(keepends=True)
    (folder / "run.jsonl").unlink()
    (folder / "server").mkdir()
    (folder / "server" / "run.jsonl").write_text("".join(whole[:50]))
    (folder / "whole").write_text("".join(whole))
    ends = (
        "import pathlib, shutil, sys, time; f = pathlib.Path(sys.argv[1]); time.sleep(0.7); "
        "(f / 'whole').rename(f / 'run.jsonl'); shutil.rmtree(f / 'server')"
    )
    with subprocess.Popen([sys.executable, "-c", ends, str(folder), "emulate"]) as conductor:
        conducts(conductor, folder)
        told = emulate("logs", "-f", "synthetic")
    assert told.out == emulate("logs", "synthetic").out


class Engine:
    """Two runs have left something, one of them is being played."""

    def __init__(self, alive: Path) -> None:
        self.owned = {"dead01": Path("/nowhere"), "live01": alive, "probe": None}
        self.swept: list[str] = []

    def sweep(self, client: object, run: str) -> Any:
        from emulator.runtimes.docker.sweep import Swept

        self.swept.append(run)
        return Swept(2, 1, 0)


@pytest.mark.parametrize(
    "words, swept",
    [
        ((), ["dead01", "probe"]),
        (("--force",), ["dead01", "live01", "probe"]),
        (("--run", "dead01"), ["dead01"]),
        (("--run", "live01"), []),
        (("--run", "unheard"), []),
    ],
)
def test_living_runs_are_spared(
    emulate: Emulate,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    swept: list[str],
) -> None:
    from emulator.runtimes.docker import border, sweep

    engine = Engine(tmp_path)
    sleeper = [sys.executable, "-c", "import time; time.sleep(60)", "emulate"]
    with subprocess.Popen(sleeper) as conductor:
        conducts(conductor, tmp_path)
        monkeypatch.setattr(border, "connect", lambda: None)
        monkeypatch.setattr(sweep, "owners", lambda client: engine.owned)
        monkeypatch.setattr(sweep, "sweep", engine.sweep)
        told = emulate("clean", *words)
        counted = emulate("clean", "--json", *words).json
        conductor.send_signal(signal.SIGKILL)
    assert told.code == 0
    assert engine.swept == swept * 2
    assert f"removed {2 * len(swept)} containers, {len(swept)} networks, 0 volumes" in told.out
    assert counted["containers"] == 2 * len(swept)
    spared = words in ((), ("--run", "live01"))
    assert ("left alone: run live01" in told.out) == spared
    assert counted["spared"] == (["live01"] if spared else [])


# -- figures ---------------------------------------------------------------------------------------


def test_a_report_and_a_comparison(emulate: Emulate, runs: Path) -> None:
    told = emulate("report", "abc121")
    assert told.code == 0
    page = Path(told.out.split()[1])
    assert page == Path("runs/synthetic/20250101T120000Z-abc121/report.html")
    assert page.stat().st_size > 10_000
    told = emulate("compare", "abc121", "abc122")
    assert told.code == 0
    assert "adacomp" in told.out.splitlines()[0] and "asgd" in told.out.splitlines()[0]
    rows = emulate("compare", "abc121", "abc122", "--json").json
    assert [row["algorithm"] for row in rows] == ["adacomp", "asgd"]


@pytest.mark.parametrize(
    "words, said",
    [
        ((), "Missing argument 'RUN...'"),
        (("abc121", "--set", "seed=2"), "--set goes with --runtimes"),
        (("abc121", "--runtimes", "x.yaml"), "give either runs, or a scenario"),
    ],
)
def test_what_cannot_be_compared(
    emulate: Emulate, runs: Path, words: tuple[str, ...], said: str
) -> None:
    told = emulate("compare", *words)
    assert told.code == 2
    assert said in told.err


@pytest.fixture
def both_runtimes(emulate: Emulate, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Both runtimes take no time, and the host is ever slower; what they say can be changed."""
    from emulator import calibration
    from emulator.cli import play
    from emulator.runtimes.docker import session

    monkeypatch.setattr(session, "require", lambda: None)
    said: dict[str, Any] = {"outcome": {}, "seeds": [], "steps": iter([0.02, 0.04] * 9)}

    def measure(*what: object, **more: object) -> calibration.Calibration:
        step = laws.LogNormal((Seconds(next(said["steps"])), 0.1))
        boot = laws.Fixed(Seconds(0.5))
        return calibration.Calibration("a", "b", "2026-01-01", "m", 1, "dense", step, boot)

    monkeypatch.setattr(calibration, "measure", measure)

    def player(on: str) -> Any:
        folder = Synthetic(devices=2, updates=30).write(Path.cwd() / "runs" / "pair" / f"1-{on}")

        def go(scenario: Any, *anything: object) -> tuple[Path, dict[str, Any]]:
            said["seeds"].append((on, scenario.seed))
            said[on] = scenario.virtual
            return folder, {"outcome": said["outcome"].get(on, "success")}

        return go

    monkeypatch.setattr(play, "player", player)
    return said


def test_a_scenario_is_played_on_both_runtimes(
    emulate: Emulate, both_runtimes: dict[str, Any]
) -> None:
    words = ("compare", "--runtimes", scenario(Path.cwd()), "--set", "seed=5")
    told = emulate(*words)
    assert told.code == 0
    assert both_runtimes["seeds"] == [("docker", 5), ("virtual", 5)]
    assert both_runtimes["virtual"].step.lognormal[0] == pytest.approx(0.03)  # as it was meanwhile
    assert "a step took a core 20.00 ms before, and 40.00 ms after the containers ran" in told.err
    assert "pair in virtual time\n" in told.out and "pair in containers on this host" in told.out
    assert re.search(r"\nbytes a push +([\d,]+) +\1 +none\n", told.out), told.out
    assert "docker       runs/pair/1-docker\n" in told.out
    found = emulate(*words, "--json", "--out", "drawn").json
    assert found["virtual"].endswith("runs/pair/1-virtual")
    assert {row["difference"] for row in found["agreement"]} <= {0.0, None}
    assert (found["step_before_s"], found["step_after_s"]) == (0.02, 0.04)
    assert "Agreement" in Path("drawn/compare.html").read_text(encoding="utf-8")


def test_what_is_missing_is_said_before_anything_is_played(
    emulate: Emulate, both_runtimes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from emulator.runtimes.docker import session

    def require() -> None:
        raise HostError("no engine")

    monkeypatch.setattr(session, "require", require)
    told = emulate("compare", "--runtimes", scenario(Path.cwd()))
    assert (told.code, told.err) == (1, "emulate: no engine\n")
    assert both_runtimes["seeds"] == []


@pytest.mark.parametrize("outcome, code", [("canceled", 130), ("failed", 1), ("stopped", 1)])
def test_a_run_that_came_to_nothing_is_not_compared(
    emulate: Emulate, both_runtimes: dict[str, Any], outcome: str, code: int
) -> None:
    both_runtimes["outcome"] = {"docker": outcome}
    told = emulate("compare", "--runtimes", scenario(Path.cwd()))
    assert told.code == code
    assert f"{outcome}: nothing to compare: runs/pair/1-docker" in told.err
    assert [on for on, _ in both_runtimes["seeds"]] == ["docker"]


def test_laws_that_a_scenario_gives_are_not_measured(
    emulate: Emulate, both_runtimes: dict[str, Any]
) -> None:
    given = "virtual={step: 5ms, boot: 1s}"
    told = emulate("compare", "--runtimes", scenario(Path.cwd()), "--set", given, "--json")
    assert "step_before_s" not in told.json
    assert both_runtimes["virtual"].step.fixed == 0.005


def test_a_folder_that_holds_no_run_any_more(emulate: Emulate, runs: Path) -> None:
    for name in ("run.jsonl", "summary.json"):
        (runs / "synthetic" / "latest" / name).unlink()
    told = emulate("report", "synthetic")
    assert told.code == 1
    assert told.err.startswith("emulate: ")
    assert "Traceback" not in told.err


# -- doctor ----------------------------------------------------------------------------------------


def test_the_doctor_says_what_is_missing_and_how_to_get_it(emulate: Emulate) -> None:
    told = emulate("doctor")
    assert told.code == 1
    assert "MISS data       mnist is not here: run `make data`" in told.out
    assert "note data       digits is not here" in told.out
    assert "MISS engine     no Docker engine answers" in told.out
    rows = emulate("doctor", "--json").json
    assert {row["what"] for row in rows} == {"host", "data", "engine"}
    assert all(row.keys() == {"what", "ok", "found", "remedy", "optional"} for row in rows)


def test_a_machine_that_has_it_all(
    emulate: Emulate, data: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_engine", list)
    told = emulate("doctor")
    assert told.code == 0
    assert "MISS" not in told.out
    assert "mnist: 200 + 200 images, sound" in told.out


def test_a_machine_that_is_full(
    emulate: Emulate, data: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = Host("here", 2, 4 << 30, 1 << 30, "6.1")
    monkeypatch.setattr(Host, "here", lambda: full)
    monkeypatch.setattr(doctor, "_engine", list)
    told = emulate("doctor")
    assert told.code == 1
    assert "1.0 of 4.0 GiB of memory free" in told.out
    assert "free some memory" in told.out


def test_an_error_brings_its_notes(
    emulate: Emulate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from emulator.runtimes.docker import session

    def fail(*anything: object) -> None:
        error = HostError("out of luck")
        error.add_note("what is known of the run is in runs/pair/1")
        raise error

    monkeypatch.setattr(session, "play", fail)
    told = emulate("run", scenario(tmp_path))
    assert told.code == 1
    assert told.err == (
        "emulate: out of luck\nemulate: what is known of the run is in runs/pair/1\n"
    )
