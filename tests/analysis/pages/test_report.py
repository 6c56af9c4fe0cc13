"""Pages that stand alone, for whole runs, half runs and runs side by side."""

import json
import re
import shutil
import types
from pathlib import Path

import pandas as pd
import pytest

from analysis import FIGURES, RunError, read
from analysis.figures import device_traffic
from analysis.figures.scores import accuracy_updates
from analysis.pages import page
from analysis.pages.compare import compare, compare_html, readable, rows
from analysis.pages.report import report
from analysis.pages.run_warnings import kept_up, warnings
from analysis.pictures import drawing
from analysis.quantities import figures, seconds, size
from analysis.reading.labels import labels
from analysis.reading.protocol import algorithm, sentence
from analysis.reading.runs import Run
from analysis.tables import sections
from tests.fakes.runs.handmade_run import act, update, written
from tests.fakes.runs.synthetic_run import Synthetic
from tests.layers import ROOT

DOCS = ROOT / "docs"
FETCHES = re.compile(r"""https?:|@import|<script|<link|<iframe|(src|href)="//|url\(["']?(?!#)""")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Synthetic(updates=1000).write(tmp_path_factory.mktemp("run") / "one")


def text_of(path: Path) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", path.read_text(encoding="utf-8")))


@pytest.mark.slow
def test_a_report_is_one_file_that_fetches_nothing(folder: Path) -> None:
    path = report(folder)
    html = path.read_text(encoding="utf-8")
    assert path == folder.resolve() / "report.html"
    assert len(html) < 1_500_000
    assert not FETCHES.search(html)
    for address in re.findall(r'(?:src|href)="([^"]*)"', html):
        assert address.startswith("#") or (folder / address).exists(), address
    shown = [module for module in FIGURES if drawing.shown(module, [read(folder)])]
    assert html.count("<svg") == len(shown) == len(list((folder / "figures").glob("*.png")))
    text = text_of(path)
    for result in ("success", "adacomp", "α = 0.1", "batch 10", "seed 7", "75.8", "+0.", "2 / 2"):
        assert result in text, result
    assert "Before you trust" not in text


@pytest.fixture
def two_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages with fewer figures, where these are not the point: drawing takes time."""
    monkeypatch.setattr(page, "FIGURES", (accuracy_updates, device_traffic))


@pytest.mark.mostly_slow
@pytest.mark.parametrize("outcome", ["canceled", "failed", "stopped"])
def test_a_run_without_a_single_update_still_has_a_report(tmp_path: Path, outcome: str) -> None:
    stop = {"at": 0.0, "what": "stop", "reason": "failed", "detail": "no hello from <a>"}
    summary = {
        "outcome": outcome,
        "updates": 0,
        "final_accuracy": None,
        "compression_ratio": None,
        "push_bytes": {"total": 0},
        "pull_bytes": 0,
        "dense_push_bytes": 0,
    }
    run = written(tmp_path, [stop], summary=summary)
    text = text_of(report(run.folder))
    assert outcome in text
    assert "no hello from &lt;a&gt;" in text
    assert "has no records for this figure" in text


def test_a_run_that_learnt_nothing_says_so(tmp_path: Path) -> None:
    """The `stop` record has no detail: the summary has."""
    stop = {"at": 60.0, "what": "stop", "reason": "time"}
    summary = {"outcome": "failed", "stop": "time", "detail": "no update was applied"}
    text = text_of(report(written(tmp_path, [stop], summary=summary).folder))
    assert "Ended by time at 60 s: no update was applied" in text


def test_a_summary_alone_is_enough_for_a_report(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text('{"outcome": "failed", "scenario": "lonely"}')
    text = text_of(report(tmp_path))
    assert "lonely" in text and "run.jsonl is missing" in text


@pytest.mark.slow
@pytest.mark.usefixtures("two_figures")
def test_a_run_that_did_not_keep_up_is_marked(tmp_path: Path) -> None:
    Synthetic(devices=1, updates=5, reasons=["all cores were busy"]).write(tmp_path)
    assert kept_up(read(tmp_path)) is False
    text = text_of(report(tmp_path))
    assert "the host did not keep up" in text and "all cores were busy" in text


def test_models_that_were_not_measured_are_named(tmp_path: Path) -> None:
    left_out = {"at": 40.0, "what": "unmeasured", "versions": [400, 800]}
    run = written(tmp_path, [left_out, {"at": 40.0, "what": "stop", "reason": "updates"}])
    assert warnings(run) == [
        "the evaluator did not measure 2 of the models that were due: the models after 400, 800 "
        "updates"
    ]


def test_messages_that_could_not_be_sent_are_a_doubt_only_without_a_fault(tmp_path: Path) -> None:
    def told(name: str, *faults: dict) -> list[str]:
        facts = {"what": "unsent", "node": "a", "message": "model 7", "bytes": 40}
        return warnings(written(tmp_path / name, [*faults, {"at": 20.0, **facts}]))

    assert told("struck", act(9.0, "sever", "a", "partition", 9.0)) == []
    (warning,) = told("not", act(9.0, "sever", "b", "partition", 9.0))
    assert warning.startswith("1 of the server's messages could not be sent to a, although")
    facts = {"what": "unsent", "node": "a", "message": "model 7 layers 1-3", "bytes": 40}
    run = written(tmp_path / "cut", [{"at": 20.0, **facts, "segments": 3}, {"at": 21.0, **facts}])
    assert warnings(run)[0].startswith("4 of the server's messages could not be sent to a")


def test_runs_are_compared_by_what_it_took_them(tmp_path: Path) -> None:
    def evaluation(at: float, updates: int, accuracy: float, pushed: int) -> dict:
        facts = {"version": updates, "updates": updates, "accuracy": accuracy, "loss": 0.1}
        return {"at": at, "what": "evaluation", **facts, "push_bytes": pushed}

    records = [
        evaluation(10.0, 200, 0.89, 1000),
        evaluation(20.0, 400, 0.95, 2000),
        evaluation(30.0, 600, 0.94, 3000),
        update(30.0),
        {"at": 40.0, "what": "stop", "reason": "time"},
    ]
    made = written(tmp_path / "made", records)
    nothing = written(tmp_path / "nothing", [{"at": 1.0, "what": "stop", "reason": "failed"}])
    table = compare([made, nothing])
    first = table.iloc[0]
    assert (first["updates_to_90"], first["time_to_90"], first["bytes_to_90"]) == (400, 20.0, 2000)
    assert (first["updates_to_95"], first["final_accuracy"]) == (400, 0.94)
    assert first["best_accuracy"] == 0.95
    assert first["duration"] == 40.0 and first["updates_per_second"] == 1 / 40
    assert pd.isna(first["updates_to_97"]) and pd.isna(table.iloc[1]["final_accuracy"])
    plain = json.loads(json.dumps(rows(table)))
    assert plain[0]["bytes_to_95"] == 2000 and plain[1]["bytes_to_95"] is None
    assert readable(table).loc["time to 95 %"].to_list() == ["20 s", "–"]


def test_targets_are_those_of_the_scenarios(tmp_path: Path) -> None:
    facts = {"what": "evaluation", "loss": 0.1}
    records = [
        {"at": 10.0, "updates": 200, "version": 200, "accuracy": 0.5, "push_bytes": 1000, **facts},
        {"at": 20.0, "updates": 400, "version": 400, "accuracy": 0.71, "push_bytes": 2000, **facts},
    ]
    pulls = [
        {"at": at, "what": "pull", "node": node, "version": version, "bytes": 10_000}
        for at, version, node in (
            *((0.0, 0, "a"), (10.0, 199, "b"), (10.0, 200, "a"), (12.0, 200, "evaluator")),
            (30.0, 400, "a"),
        )
    ]
    records = sorted([*records, *pulls], key=lambda record: record["at"])
    for folder, targets in (("low", ["50%", "70.5%"]), ("high", ["98.5%"])):
        written(tmp_path / folder, records, scenario={"targets": targets})
    low, high = read(tmp_path / "low"), read(tmp_path / "high")
    table = compare([low, high])
    assert [name for name in table if name.startswith("time_to_")] == [
        *("time_to_50", "time_to_70.5", "time_to_98.5")
    ]
    assert table["updates_to_50"].to_list() == [200, 200]
    assert table["bytes_to_70.5"].to_list() == [2000, 2000]
    assert readable(table).loc["time to 70.5 %"].to_list() == ["20 s", "20 s"]
    assert table["pulled_to_50"].to_list() == [20_000, 20_000]
    assert table["both_to_70.5"].to_list() == [32_000, 32_000]
    assert readable(table).loc["pulled to 70.5 %"].to_list() == ["30 kB", "30 kB"]
    for way in ("pushed", "pulled", "both directions"):
        assert readable(table).loc[f"{way} to 98.5 %"].to_list() == ["–", "–"]
    assert rows(table)[0]["updates_to_98.5"] is None


def test_the_report_tells_what_the_targets_took(tmp_path: Path) -> None:
    cost = {"accuracy": 0.7, "updates": 400, "time": 20.0, "bytes": 2000, "pulled": 9000}
    never = {"accuracy": 0.985, "updates": None, "time": None, "bytes": None}
    record = {"at": 20.0, "what": "evaluation", "updates": 400, "accuracy": 0.7}
    run = written(tmp_path, [record], summary={"outcome": "success", "targets": [cost, never]})
    result = dict(sections.facts(run))
    spent = "2 kB pushed, 9 kB pulled, 11 kB both"
    assert result["70 % reached"] == f"after 400 updates, 20 s, {spent}"
    assert result["98.5 % reached"] == "never"


@pytest.mark.slow
@pytest.mark.usefixtures("two_figures")
def test_a_comparison_is_one_page(tmp_path: Path) -> None:
    made = read(Synthetic(devices=2, updates=200).write(tmp_path / "made"))
    nothing = written(tmp_path / "nothing", [{"at": 1.0, "what": "stop", "reason": "failed"}])
    path = compare_html([made, nothing], tmp_path / "new")
    assert path == tmp_path / "new" / "compare.html"
    html = path.read_text(encoding="utf-8")
    assert not FETCHES.search(html)
    assert html.count("<svg") == 2
    assert {item.name for item in path.parent.glob("*.png")} == {
        *("accuracy_updates.png", "device_traffic.png")
    }


def test_labels_tell_only_what_sets_runs_apart(folder: Path, tmp_path: Path) -> None:
    run = read(folder)
    facts = {"scenario": "synthetic", "algorithm": "asgd", "seed": 7, "runtime": "docker"}
    other = written(tmp_path / "one", [], summary=facts)
    assert labels([run]) == ["synthetic"]
    assert labels([run, other]) == ["adacomp", "asgd"]
    assert len(set(labels([run, run]))) == 2


@pytest.mark.slow
def test_points_of_a_sweep_are_called_by_the_values_that_set_them_apart(
    folder: Path, tmp_path: Path
) -> None:
    runs = []
    for codec in ("{kind: topk, keep: 1%}", "dense"):
        for seed in (1, 2):
            place = tmp_path / f"{len(runs)}-93f614e6"
            shutil.copytree(folder, place)
            label = f"training.codec={codec},training.batch_size=10,seed={seed}"
            (place / "point.json").write_text(json.dumps({"label": label}))
            runs.append(read(place))
    assert labels(runs) == [
        "codec={kind: topk, keep: 1%}, seed=1",
        "codec={kind: topk, keep: 1%}, seed=2",
        "codec=dense, seed=1",
        "codec=dense, seed=2",
    ]
    (runs[0].folder / "point.json").write_text("{")
    with pytest.raises(RunError, match=r"point\.json: not JSON"):
        read(runs[0].folder)


def test_the_report_names_the_keys_that_were_not_kept(tmp_path: Path) -> None:
    result = {"not_kept": [{"keys": ["server.link.up.setup"], "why": "sent at once"}]}
    facts = sections.facts(Run(tmp_path, manifest=result))
    assert ("keys not kept", "server.link.up.setup: sent at once") in facts


def test_the_protocol_is_told_in_full(folder: Path, tmp_path: Path) -> None:
    run = read(folder)
    for fact in ("adacomp", "α = 0.1", "batch 10", "seed 7", "mnist-cnn on mnist", "split iid"):
        assert fact in sentence(run)
    spelled = {"training": {"codec": {"kind": "topk", "keep": "1%"}, "modulation": "constant"}}
    assert algorithm(written(tmp_path, [], scenario=spelled)) == "topk (keep 1%) + constant"


def test_quantities_are_short_and_have_units() -> None:
    assert [size(count) for count in (0, 999, 20_400_000, 3.37e9)] == [
        *("0 B", "999 B", "20.4 MB", "3.37 GB")
    ]
    assert [seconds(span) for span in (0.123, 41, 252, 8000)] == [
        *("0.12 s", "41 s", "4 min 12 s", "2 h 13 min")
    ]
    assert [figures(number) for number in (0.0123, 75.75, 3000, 0)] == [
        *("0.0123", "75.8", "3,000", "0")
    ]


@pytest.mark.slow
def test_the_documented_figure_joins_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (DOCS / "add-a-figure.md").read_text(encoding="utf-8")
    example = types.ModuleType("example")
    example.__package__ = "analysis.figures"
    exec(re.findall(r"```python\n(.*?)```", text, re.S)[0], example.__dict__)
    run = read(Synthetic(devices=2, updates=150).write(tmp_path))
    table = example.table([run])
    assert table["compute"].iloc[0] == run.records("update")["compute"][:100].median()
    assert len(drawing.render(example, example.table([run])).axes[0].lines) == 1
    assert example.table([]).empty
    monkeypatch.setattr(page, "FIGURES", (example,))
    html = report(tmp_path).read_text(encoding="utf-8")
    assert html.index("More figures") < html.index('<figure id="example">')
