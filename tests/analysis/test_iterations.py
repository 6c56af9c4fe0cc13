"""Plans beside the iterations that followed them, in the report's table and figure."""

from pathlib import Path
from random import Random

import pytest

from analysis import Run
from analysis.facts.iterations import device_plans
from analysis.figures import iteration_gantt
from analysis.pages.report import report
from analysis.pictures import drawing
from analysis.reading.protocol import sentence
from analysis.tables.device_tables import schedules
from emulator.schedules import LayerByLayer
from tests.fakes.plain_records import PlainRecord
from tests.fakes.runs.handmade_run import written
from tests.fakes.runs.made_up_plans import LAYERS, REST, planned, realised

DICE = Random(1)


def run_of(tmp_path: Path, *records: PlainRecord) -> Run:
    return written(tmp_path / "run", [*records])


def test_iterations_stand_beside_the_plan_that_they_followed(tmp_path: Path) -> None:
    """The next plan is on record before them, and has other cuts."""
    old = planned("a", 0.1, 1)
    result = realised("a", 9.0, 10, DICE)
    following = planned("a", 8.9, 11, LayerByLayer())
    (plan,) = device_plans(run_of(tmp_path, old, following, result))
    assert plan.kind == "dynacomm"
    assert plan.realised is not None
    assert plan.predicted.iteration == old["t_iteration"]
    assert plan.predicted.rest == pytest.approx(REST)
    assert plan.realised.forward == result["t_forward"]
    assert plan.deviation == result["t_iteration"] / old["t_iteration"] - 1


def test_the_last_plan_that_was_followed_is_shown(tmp_path: Path) -> None:
    run = run_of(
        tmp_path,
        planned("a", 0.1, 1),
        planned("a", 8.9, 11, LayerByLayer()),
        realised("a", 9.0, 10, DICE),
        planned("a", 18.9, 21, LayerByLayer()),
        realised("a", 19.0, 20, DICE, LayerByLayer()),
    )
    (plan,) = device_plans(run)
    assert plan.kind == "layer-by-layer"
    assert len(plan.plan.pulled) == len(LAYERS["pull"])


def test_a_plan_before_a_boot_is_not_that_of_iterations_after_it(tmp_path: Path) -> None:
    after = {**planned("a", 9.0, 1), "t_iteration": 7.0}
    run = run_of(tmp_path, planned("a", 0.1, 1), after, realised("a", 12.0, 4, DICE))
    (plan,) = device_plans(run)
    assert plan.predicted.iteration == 7.0


def test_a_result_that_comes_after_a_boot_is_of_the_plan_with_its_segments(tmp_path: Path) -> None:
    after = planned("a", 8.9, 1, LayerByLayer())
    run = run_of(tmp_path, planned("a", 0.1, 1), after, realised("a", 9.0, 10, DICE))
    (plan,) = device_plans(run)
    assert plan.kind == "dynacomm"


def test_a_plan_without_iterations_has_no_realised_times(tmp_path: Path) -> None:
    run = run_of(tmp_path, planned("a", 0.1, 1))
    ((name, kind, pull, push, forward, *_, deviation, hidden),) = schedules(run)
    assert (name, kind, deviation, hidden) == ("a", "dynacomm", "–", "–")
    assert (pull, push) == ("1–2 | 3 | 4 | 5", "3–5 | 2 | 1")
    assert forward.endswith(" → –")
    assert iteration_gantt.table([run]).empty


def test_the_figure_has_the_prediction_above_the_measurement(tmp_path: Path) -> None:
    record = realised("a", 9.0, 10, DICE)
    run = run_of(tmp_path, planned("a", 0.1, 1), record)
    table = iteration_gantt.table([run])
    assert list(dict.fromkeys(table["chart"])) == ["predicted", "realised"]
    traced = table[(table["chart"] == "realised") & (table["phase"] == "pushed")]
    assert [list(span) for span in zip(traced["begin"], traced["end"], strict=True)] == [
        list(span) for span in record["pushed"]
    ]
    assert charted([run]) == ["a, predicted", "a, realised"]


def charted(runs: list[Run]) -> list[str]:
    """The titles of the figure's charts, the first one at the top."""
    figure = drawing.render(iteration_gantt, iteration_gantt.table(runs))
    texts = [text.get_text() for axes in figure.axes for text in reversed(axes.texts)]
    return [text.partition(":")[0] for text in texts if ":" in text]


@pytest.mark.slow
def test_a_comparison_shows_one_device_of_each_run(tmp_path: Path) -> None:
    runs = [
        written(
            tmp_path / str(seed),
            [record for node in "ab" for record in (planned(node, 0.1, 1), _result(node))],
            summary={"seed": seed},
        )
        for seed in range(5)
    ]
    assert charted(runs[:1]) == [
        *("a, predicted", "a, realised", "b, predicted", "b, realised"),
    ]
    assert charted(runs[:2]) == [
        *("seed 0, predicted", "seed 0, realised", "seed 1, predicted", "seed 1, realised"),
    ]
    assert charted(runs) == [f"seed {seed}, realised" for seed in range(5)]


def _result(node: str) -> PlainRecord:
    return realised(node, 9.0, 10, DICE)


def test_the_devices_of_a_large_group_share_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analysis.tables.device_tables.MOST_DEVICES", 2)
    names = ["home-0", "home-1", "home-2"]
    plans = [planned(name, 0.1, 1) for name in names]
    results = [realised(name, 9.0, 10, DICE) for name in names]
    for place, record in enumerate(results):
        record["t_iteration"] = 1.0 + place
    run = run_of(
        tmp_path,
        *plans,
        *results,
        *({"at": 1.0, "what": "update", "node": name} for name in names),
    )
    ((title, *_, iteration, deviation, _),) = schedules(run)
    assert title == "home × 3"
    assert iteration.endswith(" → 2,000")
    assert deviation == f"{(2 / plans[0]['t_iteration'] - 1) * 100:.1f} %"


@pytest.mark.slow
def test_the_report_has_a_section_only_for_a_run_with_plans(tmp_path: Path) -> None:
    heading = "Schedule of transfers"
    run = run_of(tmp_path, planned("a", 0.1, 1), realised("a", 9.0, 10, DICE))
    assert heading in report(run.folder).read_text()
    plain = written(tmp_path / "plain", [{"at": 1.0, "what": "stop", "reason": "time"}])
    assert heading not in report(plain.folder).read_text()


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        ("sequential", ""),
        ({"kind": "sequential"}, ""),
        ("layer-by-layer", "schedule layer-by-layer"),
        ({"kind": "dynacomm", "replan": 9}, "schedule dynacomm (replan 9)"),
    ],
)
def test_the_protocol_names_a_schedule_that_cuts(
    tmp_path: Path, schedule: object, words: str
) -> None:
    training = {"algorithm": "asgd", "schedule": schedule}
    run = written(tmp_path, [], scenario={"name": "cut", "training": training})
    said = sentence(run)
    assert words in said if words else "schedule" not in said
