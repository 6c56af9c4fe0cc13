"""The study of schedules: plans, tables and figures."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis import RunError, papers
from analysis.papers import dynacomm
from analysis.papers.folder import Row, Study
from emulator.sweeps import studies
from emulator.sweeps.players import Players
from emulator.sweeps.point_process import at_home
from emulator.sweeps.studies import STUDIES, plans, play_study
from emulator.sweeps.studies.plans import PLANS, SCHEDULES
from tests.analysis.drawn_figures import kept, labelled
from tests.fakes.runs.handmade_run import update, written
from tests.fakes.sweeps.made_up_sweeps import Watching

STUDY = STUDIES["dynacomm"]
FAST = {"sequential": 4.0, "layer-by-layer": 3.5, "ibatch": 3.0, "dynacomm": 2.5}
"""Seconds of the made-up iterations."""


def row(folder: Path, world: str, entry: str, updates: list[dict[str, Any]]) -> Row:
    path = folder / world.replace(" ", "") / entry
    written(path, [*updates, {"at": 99.0, "what": "stop", "reason": "updates", "detail": ""}])
    return Row(world, entry, "0.1", True, (path,))


def bar(schedule: str, seconds: float) -> dict[str, Any]:
    parts = [seconds / 4, seconds / 4, 0.0]
    plan = {"schedule": schedule, "segments": [1, 2], "forward": parts, "backward": parts}
    return {"network": "net", "batch": 16, "rate": 1e9, "setup": 1e-3, **plan}


@pytest.fixture
def study(tmp_path: Path) -> Study:
    planned = [bar(schedule, seconds) for schedule, seconds in FAST.items()]
    timed = [{"layers": 10, "method": "fast", "seconds": 1e-4}]
    timed += [{"layers": 20, "method": method, "seconds": 2e-4} for method in ("fast", "ibatch")]
    content = {"bars": planned, "rates": planned, "setups": planned, "planning": timed}
    (tmp_path / "plans.json").write_text(json.dumps(content))
    rows = []
    for schedule, seconds in FAST.items():
        steps = [update(1 + seconds * number) for number in range(5)]
        shared = [update(1 + 2 * seconds * n, node) for n in range(5) for node in "ab"]
        losses = [update(seconds * n, loss=1 / (1 + n)) for n in range(4)]
        rows.append(row(tmp_path, "net, batch 16", schedule, steps))
        rows.append(row(tmp_path, "devices: 1", schedule, steps))
        rows.append(row(tmp_path, "devices: 2", schedule, shared))
        rows.append(row(tmp_path, "losses", schedule, losses))
    return Study("dynacomm", tuple(rows), (), tmp_path)


def test_the_tables_compare_plans_with_runs(study: Study) -> None:
    made = "\n".join(dynacomm.tables(study))
    assert "| net, batch 16: dynacomm | 1 + 2 | 1.25 | 1.25 | 2.5 | 2.5 | 0.0 | 1.60 |" in made
    assert "| net, batch 16: sequential | 1 + 2 | 2 | 2 | 4 | 4 | 0.0 | 1.00 |" in made
    # twice the time for two devices
    assert "| dynacomm | 2.5 s (1.60 ×) | 5 s (1.60 ×) |" in made
    assert "| dynacomm | 4 | 0 | 7.5 s |" in made
    assert "| layers | dynacomm, fast | ibatch |" in made
    assert "| 10 | 0.1 ms | – |" in made


def test_losses_that_differ_are_told(study: Study, tmp_path: Path) -> None:
    other = row(tmp_path / "other", "losses", "ibatch", [update(n, loss=1.0) for n in range(4)])
    kept = [r for r in study.rows if (r.world, r.entry) != ("losses", "ibatch")]
    differing = Study("dynacomm", (*kept, other), (), study.folder)
    assert "| ibatch | 4 | 0.75 | 3 s |" in "\n".join(dynacomm.tables(differing))
    assert [one.verdict for one in dynacomm.claims(study)] == ["reproduced", "reproduced"]
    _, accuracy = dynacomm.claims(differing)
    assert (accuracy.verdict, accuracy.measured) == ("partly", "losses differ by 0.75 at most")


def test_a_schedule_that_is_beaten_is_not_optimal(study: Study) -> None:
    file = study.folder / "plans.json"
    plans = json.loads(file.read_text())
    plans["bars"][-1] = bar("dynacomm", 3.5)
    file.write_text(json.dumps(plans))
    optimal, _ = dynacomm.claims(study)
    assert optimal.verdict == "not"
    assert optimal.measured == "at least 0.857 × as fast as the best other (net, batch 16)"


@pytest.mark.slow
def test_the_study_is_published_as_a_page_and_its_figures(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    monkeypatch.setattr(papers, "open_study", lambda folder: study)
    drawn = kept(monkeypatch)
    page, *figures = papers.publish(tmp_path, docs)
    assert page.read_text().count("\n| dynacomm |") == 2
    assert [figure.name for figure in figures] == [
        f"dynacomm-{name}.png" for name in ("bars", "speedups", "devices", "losses", "planning")
    ]
    forward, _ = drawn["dynacomm-bars.png"].axes
    stacked = [bar.get_y() + bar.get_height() for bar in forward.patches]
    assert stacked[-len(FAST) :] == [seconds / 2 for seconds in FAST.values()]
    for panel in drawn["dynacomm-speedups.png"].axes:
        gains = {name: line.get_ydata()[0] for name, line in labelled(panel).items()}
        assert gains == {name: 4.0 / seconds for name, seconds in FAST.items()}
    (devices,) = drawn["dynacomm-devices.png"].axes
    for name, seconds in FAST.items():
        assert list(labelled(devices)[name].get_ydata()) == [seconds, 2 * seconds]
    _, by_time = drawn["dynacomm-losses.png"].axes
    ends = {name: line.get_xdata()[-1] for name, line in labelled(by_time).items()}
    assert ends == {name: 3 * seconds for name, seconds in FAST.items()}
    (planning,) = drawn["dynacomm-planning.png"].axes
    assert list(labelled(planning)["dynacomm, fast"].get_ydata()) == pytest.approx([0.1, 0.2])


def test_a_study_without_its_plans_is_refused(study: Study) -> None:
    (study.folder / "plans.json").unlink()
    with pytest.raises(RunError, match=r"plans\.json: cannot be read"):
        dynacomm.tables(study)


def test_the_steps_follow_from_the_layer_tables() -> None:
    entries = {entry.world: entry for entry in STUDY.entries if ", batch " in entry.world}
    assert len(entries) == 8
    for entry in entries.values():
        scenario = entry.point("0.1").scenario
        model, virtual = scenario.training.model, scenario.virtual
        assert not isinstance(model, str)
        counted = sum(layer.multiply_adds for layer in model.layers)
        seconds = 6 * counted * scenario.training.batch_size / 1e12
        assert virtual.step.mean == pytest.approx(seconds, rel=1e-4)


def test_the_plans_hold_every_network_and_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, values in (("_RATES", (1e8, 1e9)), ("_SETUPS", (1e-3,)), ("_LAYERS", (5,))):
        monkeypatch.setattr(plans, name, values)
    smallest = tuple(entry for entry in STUDY.entries if entry.world.startswith("googlenet"))
    made = PLANS["dynacomm"](replace(STUDY, entries=smallest))
    assert len(made["bars"]) == 2 * len(SCHEDULES)
    assert len(made["rates"]) == 2 * len(SCHEDULES)
    assert [plan["schedule"] for plan in made["setups"]] == list(SCHEDULES)
    for rate in (1e8, 1e9):
        times = {
            plan["schedule"]: sum(plan["forward"]) + sum(plan["backward"])
            for plan in made["rates"]
            if plan["rate"] == rate
        }
        assert times["dynacomm"] == min(times.values())
        assert times["sequential"] < 2 * times["dynacomm"]
    assert {row["method"] for row in made["planning"]} == {"fast", "paper", "ibatch"}


def test_plans_are_those_of_the_file_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(play_study, "play_batches", lambda *given, **more: None)
    made: list[Path] = []

    def planned(study: studies.Study) -> dict[str, Any]:
        made.append(study.scenario)
        return {"bars": [len(made)]}

    monkeypatch.setattr(play_study, "PLANS", {"made-up": planned})
    empty = studies.Study("made-up", "of nothing", Path("smallest.yaml"), (), plans="made-up")
    for _ in range(2):
        play_study.play({tmp_path: empty}, Players(at_home, 1), Watching())
    assert [file.name for file in made] == ["smallest.yaml"] * 2
    assert json.loads((tmp_path / "plans.json").read_bytes()) == {"bars": [2]}
