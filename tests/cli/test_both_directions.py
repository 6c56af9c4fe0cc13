"""Bytes are told of both directions, pushed and pulled, wherever a person reads of traffic."""

import csv
import json
import re
from pathlib import Path

import click
import pytest

from analysis import FIGURES
from analysis.figures.scores import accuracy_both, accuracy_bytes
from analysis.pages import page
from emulator.cli.entry import commands
from tests.fakes.both_ways import PUSHED, one_sided, one_sided_keys, unnamed_ratio
from tests.fakes.typed_commands import Emulate
from tests.fakes.virtual_world import digits
from tests.layers import ROOT

SCENARIO = """\
name: tiny
seed: 1
training:
  dataset: digits
  model: digits-softmax
  batch_size: 10
  codec: {kind: topk, keep: 5%}
  learning_rate: 0.2
targets: [20%, 30%, 99%]
evaluate: {every: 20}
stop: {updates: 120}
virtual: {step: 20ms, boot: 1s, serve: 1ms, learner: numpy}
devices:
  - {name: home, count: 2, link: dsl}
"""


@pytest.fixture
def tiny(tmp_path: Path, emulate: Emulate) -> Path:
    """A run of `SCENARIO` in virtual time, at the usual place."""
    (tmp_path / "tiny.yaml").write_text(SCENARIO)
    with digits():
        done = emulate("run", "tiny.yaml", "--on", "virtual", "--no-report")
    assert done.code == 0, done.err
    (tmp_path / "said").write_text(done.out)
    return Path("runs/tiny/latest").resolve()


def summary(folder: Path) -> dict:
    return json.loads((folder / "summary.json").read_bytes())


def test_the_last_lines_the_list_the_log_and_the_comparison(
    emulate: Emulate, tiny: Path, tmp_path: Path
) -> None:
    last = (tmp_path / "said").read_text()
    for line in (line for line in last.splitlines() if PUSHED.search(line)):
        # a line on one direction alone is one of several
        assert line.startswith("pushed ") or not one_sided(line), line
    assert one_sided(last) == []
    for way in ("pushed", "pulled", "both"):
        assert re.search(rf"^{way} ", last, re.MULTILINE), way
    listed = emulate("list").out
    assert one_sided(listed) == []
    assert one_sided_keys(emulate("list", "--json").json) == []
    (entry,) = emulate("list", "--json").json
    pushed, pulled = summary(tiny)["push_bytes"]["total"], summary(tiny)["pull_bytes"]
    ways = entry["push_bytes"], entry["pull_bytes"], entry["both_bytes"]
    assert ways == (pushed, pulled, pushed + pulled)
    scored = [line for line in emulate("logs", "tiny").out.splitlines() if "accuracy" in line]
    assert scored
    assert [line for line in scored if one_sided(line) or not PUSHED.search(line)] == []
    table = emulate("compare", "tiny").out
    assert one_sided(table) == []
    for target in ("20", "30", "99"):
        for way in ("pushed", "pulled", "both directions"):
            assert f"{way} to {target} %" in table
    (row,) = emulate("compare", "tiny", "--json").json
    assert one_sided_keys(row) == []
    found = summary(tiny)
    assert one_sided_keys(found["targets"] + [found]) == []
    first = found["targets"][0]
    assert (
        row["both_to_20"]
        == first["bytes"] + first["pulled"]
        == row["bytes_to_20"] + (row["pulled_to_20"])
    )
    both = found["push_bytes"]["total"] + found["pull_bytes"]
    dense = found["dense_push_bytes"] + found["dense_pull_bytes"]
    assert (row["both_bytes"], row["traffic_ratio"]) == (both, found["traffic_ratio"])
    assert found["traffic_ratio"] == pytest.approx(dense / both, abs=1e-3)
    assert 1 < found["traffic_ratio"] < found["compression_ratio"]


def test_a_run_compared_with_itself_says_so(emulate: Emulate, runs: Path) -> None:
    latest = (runs / "synthetic" / "latest").resolve().name
    again = emulate("compare", "abc122", "abc122", latest[-6:], "--json")
    assert again.code == 0
    assert len(again.json) == 1
    assert again.err.startswith("emulate: abc122 is given twice: runs/synthetic/")
    named = emulate("compare", "abc122", "runs/synthetic/20250102T120000Z-abc122")
    assert "abc122 and runs/synthetic/20250102T120000Z-abc122 are one run" in named.err
    assert emulate("compare", "abc121", "abc122").err == ""


@pytest.mark.slow
def test_the_pages(emulate: Emulate, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {accuracy_both, accuracy_bytes} < set(FIGURES)
    monkeypatch.setattr(page, "FIGURES", (accuracy_both, accuracy_bytes))
    assert emulate("report", "tiny").code == 0
    assert emulate("compare", "tiny", "--out", "compared").code == 0
    for path in (tiny / "report.html", Path("compared/compare.html")):
        html = re.sub(r"<svg.*?</svg>|<style.*?</style>", "", path.read_text(), flags=re.DOTALL)
        tiles = " ".join(re.findall(r'<div class="tile">.*?</div>', html, re.DOTALL))
        tables = re.findall(r"<table.*?</table>", html, re.DOTALL)
        texts = [" ".join(re.sub(r"<[^>]+>", " ", part).split()) for part in (tiles, *tables)]
        assert [text for text in texts if one_sided(text)] == []
        words = [re.sub(r"<[^>]+>", " ", part) for part in re.findall(r"<h\d>.*?</h\d>", html)]
        assert [text for text in words if unnamed_ratio(text)] == []
        assert sum("pulled" in text for text in texts) > 0


def test_the_exports(emulate: Emulate, tiny: Path) -> None:
    assert emulate("export", "tiny", "--format", "csv", "--out", "tables").code == 0
    for name in ("evaluations", "devices", "runs"):
        with (Path("tables") / f"{name}.csv").open() as file:
            (row, *_) = list(csv.DictReader(file))
        assert {"push_bytes", "pull_bytes", "both_bytes"} < row.keys(), name
        assert one_sided_keys(row) == []
    with Path("tables/evaluations.csv").open() as file:
        scores = list(csv.DictReader(file))
    for target in summary(tiny)["targets"][:2]:
        reached = next(row for row in scores if float(row["accuracy"]) >= target["accuracy"])
        assert int(reached["pull_bytes"]) == target["pulled"]


def test_no_help_and_no_page_has_a_ratio_of_an_unnamed_direction() -> None:
    context = click.Context(commands)
    helps = {name: commands.get_command(context, name) for name in commands.list_commands(context)}
    texts = {f"emulate {name}": command.get_help(context) for name, command in helps.items()}
    for file in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        # tests of the studies walk what is made between the marks
        texts[file.name] = re.sub(
            r"<!-- made by.*?<!-- to here -->", "", file.read_text(), flags=re.S
        )
    fewer = re.compile(r"\d ?[x×] (fewer|less)|times fewer|fewer bytes|compression ratio", re.I)
    found = [
        f"{name}: {paragraph}"
        for name, text in texts.items()
        for paragraph in re.split(r"\n\s*\n|\n(?=[|*] )", text)
        if fewer.search(paragraph) and not re.search(r"push|both", paragraph, re.I)
    ]
    assert found == []
