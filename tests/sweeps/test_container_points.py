"""Points in containers: one at a time, after all others, and removed if the sweep ends."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from emulator.errors import HostError
from emulator.scenario import Scenario
from emulator.sweeps import Point, Standing, point_process, pool, sweep
from emulator.sweeps.deciding_code import deciding_code
from emulator.sweeps.point_note import NOTE, write_note
from emulator.sweeps.point_process import PLAYERS, SCENARIO
from emulator.sweeps.studies import STUDIES
from tests.fakes.sweeps.made_up_play import HANGS
from tests.fakes.sweeps.made_up_sweeps import MADE_UP, Watching, rates
from tests.fakes.typed_commands import Emulate
from tests.sweeps.awaited import alive, until

CONTAINERS = (sys.executable, "-m", "tests.fakes.sweeps.made_up_containers")


def in_containers(points: Sequence[Point]) -> list[Point]:
    return [replace(point, label=f"{point.label},on=docker", on="docker") for point in points]


@pytest.fixture(autouse=True)
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what a host without an engine is refused for."""

    def scenarios(points: Sequence[Point], tell: object) -> list[Scenario]:
        return [point.scenario for point in points]

    monkeypatch.setattr(pool, "prepare", scenarios)
    monkeypatch.setattr(pool, "require", lambda points: None)


@pytest.fixture
def players(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(point_process, "PLAYERS", {"virtual": MADE_UP, "docker": CONTAINERS})


class Beside(Watching):
    """Keeps which points were in play at the same time."""

    def __init__(self) -> None:
        super().__init__()
        self.together: list[set[str]] = []

    def standing(self, now: Standing) -> None:
        self.together.append({label for label, _ in now.playing})


def test_a_point_in_containers_is_another_point(sweep_file: Path) -> None:
    (point,) = rates(sweep_file, 0.1)
    assert replace(point, on="docker").digest != point.digest
    assert replace(point, on="virtual").digest == point.digest


def test_a_run_in_containers_takes_the_time_that_it_is_allowed(sweep_file: Path) -> None:
    (point,) = rates(sweep_file, 0.1)
    long, longer = (
        replace(
            point,
            on="docker",
            scenario=point.scenario.model_copy(
                update={"stop": point.scenario.stop.model_copy(update={"time": seconds})}
            ),
        )
        for seconds in (60.0, 120.0)
    )
    assert longer.work - long.work == pytest.approx(60 * 5e7)


@pytest.mark.slow
def test_containers_have_the_host_for_themselves_after_all_others(
    sweep_file: Path, tmp_path: Path, played: Callable[[], list[str]], players: None
) -> None:
    view, points = Beside(), rates(sweep_file, 0.1, 0.2, 0.3)
    both = [*in_containers(points[:2]), *points]
    finished = sweep(both, tmp_path / "out", 4, view)
    assert [item.label for item in finished] == [point.label for point in both]
    assert len(played()) == 5
    crowds = [now for now in view.together if any(label.endswith("docker") for label in now)]
    assert crowds and all(len(now) == 1 for now in crowds)
    assert {*view.said[:3]} == {point.label for point in points}, "virtual time comes first"


@pytest.mark.slow
def test_the_note_of_a_point_tells_whether_the_host_kept_up(
    sweep_file: Path, tmp_path: Path, played: Callable[[], list[str]], players: None
) -> None:
    points, runs = in_containers(rates(sweep_file, 0.1)), tmp_path / "runs"
    (docker,) = sweep(points, runs / "sweeps" / "before", 1, Watching())
    facts = json.loads((docker.folder / NOTE).read_bytes())["facts"]
    assert (facts["kept_up"], facts["host"]) == (False, "the host was busy; packets were late")
    (again,) = sweep(points, runs / "studies" / "x", 1, Watching(), runs=runs)
    assert again.row == docker.row
    assert len(played()) == 1, "taken over, as other points are"


@pytest.mark.slow
def test_containers_are_removed_if_the_sweep_is_interrupted(
    sweep_file: Path, tmp_path: Path, played: Callable[[], list[str]], players: None
) -> None:
    container = tmp_path / "container"

    class Interrupts(Watching):
        def standing(self, now: Standing) -> None:
            if container.exists() and (pid := container.read_text()):
                pids.append(int(pid))
                raise KeyboardInterrupt

    pids: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        sweep(in_containers(rates(sweep_file, HANGS)), tmp_path / "out", 1, Interrupts())
    assert not container.exists()
    assert pids and not alive(pids[0])
    assert not (tmp_path / "out" / ".playing").exists()


@pytest.mark.slow
def test_containers_are_removed_if_the_sweep_is_killed(
    sweep_file: Path, tmp_path: Path, played: Callable[[], list[str]]
) -> None:
    scratch, container = tmp_path / "scratch", tmp_path / "container"
    scratch.mkdir()
    text = sweep_file.read_text().replace("adacomp}", f"adacomp, learning_rate: {HANGS}}}")
    (scratch / SCENARIO).write_text(text)
    with subprocess.Popen([*CONTAINERS, str(scratch)], stdin=subprocess.PIPE) as child:
        until(container.exists)
        assert child.stdin
        child.stdin.close()  # as the kernel does once the sweep is killed
        assert child.wait(10) == 130
    assert not container.exists()


def test_each_runtime_has_a_process_of_its_own() -> None:
    assert {point.on for study in STUDIES.values() for point in study.entries} <= PLAYERS.keys()


# -- without an engine -----------------------------------------------------------------------------


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Play nothing, and return the names of the studies that would be played."""
    names: list[str] = []

    def refused() -> None:
        raise HostError("no Docker engine answers at /var/run/docker.sock")

    def play(studies: dict, *rest: object, **keys: object) -> None:
        names.extend(study.name for study in studies.values())

    monkeypatch.setattr("emulator.runtimes.docker.play_containers.require", refused)
    monkeypatch.setattr("emulator.sweeps.studies.play", play)
    return names


CONFIRMED = {"hardy-containers", "chen-containers", "dynacomm-containers", "omnivore-containers"}


def test_without_an_engine_studies_in_containers_are_left_out_and_named(
    emulate: Emulate, no_engine: list[str]
) -> None:
    said = emulate("study", "--all")
    assert said.code == 0
    assert {*no_engine} == STUDIES.keys() - CONFIRMED
    (line,) = (line for line in said.err.splitlines() if "containers" in line)
    assert line.startswith("emulate: not played, as they need containers: ")
    assert all(name in line for name in CONFIRMED)
    assert line.endswith("no Docker engine answers at /var/run/docker.sock")


@pytest.mark.parametrize("other", [False, True])
def test_without_an_engine_a_finished_study_is_left_out_only_if_other_code_played_it(
    emulate: Emulate, no_engine: list[str], tmp_path: Path, other: bool
) -> None:
    name = "hardy-containers"
    study = tmp_path / "runs" / "studies" / name
    run = study / "points" / "one"
    run.mkdir(parents=True)
    code = deciding_code()
    write_note(run, "one", "digest", {**code, "modules": "before"} if other else code, {})
    (study / "study.json").write_text(json.dumps({"rows": [{"runs": ["points/one"]}], "tried": []}))
    said = emulate("study", "--all")
    assert said.code == 0
    (line,) = (line for line in said.err.splitlines() if "as they need containers" in line)
    assert (name not in no_engine, name in line) == (other, other)


def test_a_study_in_containers_that_is_named_is_refused_without_an_engine(
    emulate: Emulate, no_engine: list[str]
) -> None:
    said = emulate("study", "hardy-containers")
    assert said.code == 1
    assert "no Docker engine answers" in said.err
    assert not no_engine


def test_the_quick_studies_need_no_engine(emulate: Emulate, no_engine: list[str]) -> None:
    said = emulate("study", "--all", "--quick")
    assert (said.code, "containers:" in said.err) == (0, False)
    assert {*no_engine} == STUDIES.keys()
