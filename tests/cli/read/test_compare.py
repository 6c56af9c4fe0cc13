"""`emulate report` and `compare`: one run, several, and one on both runtimes."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from analysis.figures.scores import accuracy_updates
from analysis.pages import page
from emulator.errors import HostError
from emulator.units import Seconds
from emulator.world import laws
from tests.fakes.runs.synthetic_run import Synthetic
from tests.fakes.typed_commands import Emulate, scenario


@pytest.fixture
def few_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages with one figure: drawing takes time, and which there are is not for commands to say."""
    monkeypatch.setattr(page, "FIGURES", (accuracy_updates,))


@pytest.mark.slow
@pytest.mark.usefixtures("few_figures")
def test_a_report_and_a_comparison(emulate: Emulate, runs: Path) -> None:
    result = emulate("report", "abc121")
    assert result.code == 0
    page = Path(result.out.split()[1])
    assert page == Path("runs/synthetic/20250101T120000Z-abc121/report.html")
    assert page.stat().st_size > 10_000
    result = emulate("compare", "abc121", "abc122")
    assert result.code == 0
    assert "adacomp" in result.out.splitlines()[0] and "asgd" in result.out.splitlines()[0]
    rows = emulate("compare", "abc121", "abc122", "--json").json
    assert [row["algorithm"] for row in rows] == ["adacomp", "asgd"]


@pytest.mark.parametrize(
    "words, said",
    [
        ((), "Missing argument 'RUN...'"),
        (("abc121", "--set", "seed=2"), "--set needs --runtimes"),
        (("abc121", "--runtimes", "x.yaml"), "give either runs, or a scenario"),
    ],
)
def test_what_cannot_be_compared(
    emulate: Emulate, runs: Path, words: tuple[str, ...], said: str
) -> None:
    result = emulate("compare", *words)
    assert result.code == 2
    assert said in result.err


@pytest.fixture
def both_runtimes(emulate: Emulate, monkeypatch: pytest.MonkeyPatch, data: None) -> dict[str, Any]:
    """Both runtimes take no time, and the host is ever slower; what they say can be changed."""
    from emulator.cli.play import run
    from emulator.costs import calibration
    from emulator.costs.calibration import step_meter
    from emulator.runtimes.docker import play_containers

    monkeypatch.setattr(play_containers, "require", lambda: None)
    said: dict[str, Any] = {"outcome": {}, "seeds": [], "steps": iter([0.02, 0.04] * 9)}

    def measure(*what: object, **more: object) -> calibration.Calibration:
        step = laws.LogNormal((Seconds(next(said["steps"])), 0.1))
        boot, serve = laws.Fixed(Seconds(0.5)), laws.Fixed(Seconds(0.002))
        return calibration.Calibration("a", "b", "2026-01-01", "m", 1, "dense", step, boot, serve)

    @contextmanager
    def alongside(*what: object, **more: object) -> Iterator[step_meter.StepMeter]:
        yield step_meter.StepMeter(serving=said["served"], readings=said["read"])

    said["served"] = said["read"] = []
    monkeypatch.setattr(calibration, "measure", measure)
    monkeypatch.setattr(calibration, "alongside", alongside)

    def player(on: str, shaping: None = None) -> Any:
        folder = Synthetic(devices=2, updates=30).write(Path.cwd() / "runs" / "pair" / f"1-{on}")

        def go(scenario: Any, *anything: object) -> tuple[Path, dict[str, Any]]:
            said["seeds"].append((on, scenario.seed))
            said[on] = scenario.virtual
            return folder, {"outcome": said["outcome"].get(on, "success")}

        return go

    monkeypatch.setattr(run, "player", player)
    return said


@pytest.mark.slow
@pytest.mark.usefixtures("few_figures")
def test_a_scenario_is_played_on_both_runtimes(
    emulate: Emulate, both_runtimes: dict[str, Any]
) -> None:
    words = ("compare", "--runtimes", scenario(Path.cwd()), "--set", "seed=5")
    result = emulate(*words)
    assert result.code == 0
    assert both_runtimes["seeds"] == [("docker", 5), ("virtual", 5)]
    assert both_runtimes["virtual"].step.lognormal[0] == pytest.approx(0.03)  # as it was meanwhile
    assert "one training step took 20.00 ms of CPU before it and 40.00 ms after it" in result.err
    assert "pair in virtual time\n" in result.out and "pair in containers\n" in result.out
    assert re.search(r"\nbytes per push +([\d,]+) +\1 +none\n", result.out), result.out
    assert "docker       runs/pair/1-docker\n" in result.out
    actual = emulate(*words, "--json", "--out", "drawn").json
    assert actual["virtual"].endswith("runs/pair/1-virtual")
    assert {row["difference"] for row in actual["agreement"]} <= {0.0, None}
    assert (actual["step_before_s"], actual["step_after_s"]) == (0.02, 0.04)
    assert actual["step_meanwhile_s"] == pytest.approx(0.03)
    assert "Agreement" in Path("drawn/compare.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("few_figures")
def test_virtual_time_reckons_with_the_host_as_the_containers_had_it(
    emulate: Emulate, both_runtimes: dict[str, Any]
) -> None:
    ticks = [0.01 * reading for reading in range(20)]
    both_runtimes.update(read=ticks, served=[tick / 4 for tick in ticks])
    result = emulate("compare", "--runtimes", scenario(Path.cwd()), "--json")
    assert result.json["step_meanwhile_s"] == 0.01
    assert both_runtimes["virtual"].step.lognormal[0] == 0.01
    assert both_runtimes["virtual"].serve.fixed == 0.0025
    assert both_runtimes["virtual"].boot.fixed == 0.5


def test_what_is_missing_is_said_before_anything_is_played(
    emulate: Emulate, both_runtimes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from emulator.runtimes.docker import play_containers

    def require() -> None:
        raise HostError("no engine")

    monkeypatch.setattr(play_containers, "require", require)
    result = emulate("compare", "--runtimes", scenario(Path.cwd()))
    assert (result.code, result.err) == (1, "emulate: no engine\n")
    assert both_runtimes["seeds"] == []


def test_what_virtual_time_would_refuse_is_said_before_anything_is_played(
    emulate: Emulate, both_runtimes: dict[str, Any]
) -> None:
    given = ("--set", "virtual.learner=none", "--set", "stop.accuracy=90%")
    result = emulate("compare", "--runtimes", scenario(Path.cwd()), *given)
    assert (result.code, result.err) == (
        2,
        "stop.accuracy: with virtual.learner none nobody learns: leave it out\n",
    )
    assert both_runtimes["seeds"] == []


def test_refusals_of_both_runtimes_are_said_at_once(
    emulate: Emulate, both_runtimes: dict[str, Any]
) -> None:
    quota = "devices=[{name: a, profile: {cpu: 99900%}}]"
    lists = (quota, "faults=[]", "stop={updates: 9, loss: 1}")
    given = (word for each in (*lists, "virtual.learner=none") for word in ("--set", each))
    result = emulate("compare", "--runtimes", scenario(Path.cwd()), *given)
    first, wanted, goal = result.err.splitlines()
    assert (result.code, first) == (2, "this cannot be played here:")
    assert wanted.startswith("devices[0].profile.cpu: 99900% is more than")
    assert goal == "stop.loss: with virtual.learner none nobody learns: leave it out"
    assert both_runtimes["seeds"] == []


def test_what_check_warns_of_is_said_once_before_anything_is_played(
    emulate: Emulate, both_runtimes: dict[str, Any]
) -> None:
    both_runtimes["outcome"] = {"docker": "canceled"}
    laws = "virtual={learner: none, step: 1s, boot: 1s, serve: 1ms}"
    given = ("--set", "stop.time=50ms", "--set", laws)
    result = emulate("compare", "--runtimes", scenario(Path.cwd()), *given)
    short = [line for line in result.err.splitlines() if "too short for any update" in line]
    assert [line.partition(":")[0] for line in short] == [
        "warning stop.time 50ms is too short for any update, so the run will fail"
    ]
    assert both_runtimes["seeds"] == [("docker", 0)]


@pytest.mark.parametrize("outcome, code", [("canceled", 130), ("failed", 1), ("stopped", 1)])
def test_a_run_that_came_to_nothing_is_not_compared(
    emulate: Emulate, both_runtimes: dict[str, Any], outcome: str, code: int
) -> None:
    both_runtimes["outcome"] = {"docker": outcome}
    result = emulate("compare", "--runtimes", scenario(Path.cwd()))
    assert result.code == code
    assert f"{outcome}: nothing to compare: runs/pair/1-docker" in result.err
    assert [on for on, _ in both_runtimes["seeds"]] == ["docker"]


def test_laws_that_a_scenario_gives_are_not_measured(
    emulate: Emulate, both_runtimes: dict[str, Any]
) -> None:
    given = "virtual={step: 5ms, boot: 1s}"
    result = emulate("compare", "--runtimes", scenario(Path.cwd()), "--set", given, "--json")
    assert "step_before_s" not in result.json
    assert both_runtimes["virtual"].step.fixed == 0.005


def test_a_folder_that_holds_no_run_any_more(emulate: Emulate, runs: Path) -> None:
    for name in ("run.jsonl", "summary.json"):
        (runs / "synthetic" / "latest" / name).unlink()
    result = emulate("report", "synthetic")
    assert result.code == 1
    assert result.err.startswith("emulate: ")
    assert "Traceback" not in result.err


@pytest.mark.slow
@pytest.mark.usefixtures("few_figures")
def test_a_comparison_that_cannot_be_drawn_says_where(emulate: Emulate, runs: Path) -> None:
    Path("file").touch()
    result = emulate("compare", "abc121", "abc122", "--out", "file/drawn")
    assert result.code == 1
    assert result.err.startswith("emulate: cannot draw the comparison in file/drawn: ")
    assert len(result.err.splitlines()) == 1
