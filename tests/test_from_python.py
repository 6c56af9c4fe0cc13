"""Python plays runs and sweeps from files; their tables are as docs/from-python.md says."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import emulator
from analysis import TABLES, RunError, load
from emulator.cli.play.python_calls import as_yaml, overrides
from emulator.errors import ScenarioError
from tests.fakes.runs.synthetic_run import Synthetic
from tests.fakes.virtual_world import SCENARIO, digits
from tests.layers import ROOT

PAGE = ROOT / "docs" / "from-python.md"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.yaml"
    path.write_text(SCENARIO)
    return path


@pytest.mark.slow
def test_a_file_is_played_with_changes_and_gives_tables(file: Path, tmp_path: Path) -> None:
    changes = {"stop.updates": np.int64(60), "faults": [], "stop.time": "10min"}
    with digits():
        run = emulator.run(file, on="virtual", set=changes, runs=tmp_path / "runs")
    assert isinstance(run, emulator.Run)
    assert (run.outcome, len(run.updates), len(run.devices)) == ("success", 60, 5)
    assert (Path(run) / "run.jsonl").is_file()
    assert emulator.read_run(run).summary == run.summary
    assert run.updates["bytes"].sum() == run.summary["push_bytes"]["total"]
    devices = run.pulls[run.pulls["node"] != "evaluator"]
    assert devices["bytes"].sum() == run.summary["pull_bytes"] == run.devices["pull_bytes"].sum()
    assert len(run.faults) == 0
    with pytest.raises(ValueError, match="set= changes a file"):
        emulator.run(emulator.load(file), set={"seed": 2})
    with pytest.raises(ScenarioError, match=r"set training\.batch=2"):
        emulator.run(file, on="virtual", set={"training.batch": 2}, runs=tmp_path / "runs")


@pytest.mark.parametrize(
    "value, text",
    [
        ("97%", "97%"),
        (None, "null"),
        (True, "true"),
        (np.float32(0.5), "0.5"),
        ({"kind": "topk", "keep": "1%"}, '{"kind": "topk", "keep": "1%"}'),
        (np.array([1, 2]), "[1, 2]"),
    ],
)
def test_values_are_written_as_yaml(value: object, text: str) -> None:
    assert as_yaml(value) == text


def test_a_value_that_yaml_cannot_hold_is_refused() -> None:
    with pytest.raises(TypeError, match="is not a value of a scenario"):
        as_yaml({1, 2})
    with pytest.raises(TypeError, match="give a list of values"):
        emulator.sweep("lab.yaml", {"seed": "12"})
    with pytest.raises(ValueError, match=r"^set=\{'stop.loss': nan\}: "):
        overrides({"stop.loss": float("nan")})


@pytest.mark.slow
def test_every_table_has_its_columns_and_types_whatever_a_run_lacks(tmp_path: Path) -> None:
    full = Synthetic(updates=300).write(tmp_path / "a" / "one")
    bare = tmp_path / "b" / "one"
    bare.mkdir(parents=True)
    (bare / "run.jsonl").write_text("")
    runs = load(tmp_path / "*" / "one", full)
    assert runs.labels == ("a/one", "b/one")
    for name, columns in TABLES.items():
        frame = getattr(runs, name)
        assert {column: str(kind) for column, kind in frame.dtypes.items()} == columns
    assert set(runs.updates["run"]) == {"a/one"}
    assert list(runs.runs["outcome"]) == ["success", "unfinished"]
    assert len(runs[1:].runs) == 1
    assert runs.devices["updates"].sum() == len(runs.updates) == 300


def test_a_place_without_a_run_is_refused(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "*", tmp_path / "none"):
        with pytest.raises(RunError, match="no run here"):
            load(place)


def test_the_page_documents_every_column() -> None:
    said: dict[str, list[str]] = {}
    section = PAGE.read_text().partition("## The tables")[2].partition("\n## ")[0]
    for line in section.splitlines():
        name, columns, *_ = [*(cell.strip(" `") for cell in line.split("|")[1:3]), "", ""]
        if name in TABLES:
            said[name] = []
        elif not name and columns and said:
            list(said.values())[-1].extend(re.findall(r"\w+", columns))
    assert {name: sorted(columns) for name, columns in said.items()} == {
        name: sorted(columns) for name, columns in TABLES.items()
    }


def test_the_page_names_the_public_names() -> None:
    section = PAGE.read_text().partition("## The stable surface")[2].partition("\n## ")[0]
    named = set(re.findall(r"^\| `(\w+)", section, re.MULTILINE))
    assert named == set(emulator.__all__)


@pytest.mark.slow
def test_the_notebook_runs(tmp_path: Path) -> None:
    """Jupyter is not needed: the cells are run one after another in one namespace."""
    cells = json.loads((ROOT / "docs" / "notebook.ipynb").read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert not any(cell.get("outputs") for cell in cells)
    checks = "assert run.outcome == 'success' and run.summary['final_accuracy'] > 0.9\n"
    checks += "assert len(swept.points) == 4 and len(runs) == 5 and len(ax.lines) == 5\n"
    script = tmp_path / "notebook.py"
    script.write_text("\n".join([*code, checks]))
    environment = {**os.environ, "MPLBACKEND": "agg", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environment["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


SAMPLE = """
import os

import pandas as pd

import emulator
from emulator import analysis

run = emulator.run("lab.yaml", on="virtual", set={"training.batch_size": 32})
path: str = os.fspath(run)
updates: pd.DataFrame = run.updates
swept = emulator.sweep("lab.yaml", {"seed": [1, 2]}, seeds=1)
again: emulator.Run = swept.runs[0]
points: pd.DataFrame = swept.points
several = analysis.load("runs/*/latest", run)
reveal_type(several.updates)
emulator.run("lab.yaml", on="moon")
wrong: int = run.outcome
"""


@pytest.mark.slow
def test_a_type_checker_reads_the_surface_as_a_wheel_lays_it(tmp_path: Path) -> None:
    package = tmp_path / "site" / "emulator"
    package.mkdir(parents=True)
    for entry in (ROOT / "emulator").iterdir():
        (package / entry.name).symlink_to(entry)
    (package / "analysis").symlink_to(ROOT / "analysis")
    (tmp_path / "sample.py").write_text(SAMPLE)
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent"]
    command += ["--cache-dir", str(tmp_path / "cache"), "sample.py"]
    environment = {**os.environ, "MYPYPATH": str(package.parent)}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    lines = SAMPLE.splitlines()
    wrong = {lines.index(line) + 1 for line in lines if "moon" in line or "wrong" in line}
    found = {int(line) for line in re.findall(r"sample.py:(\d+): error", done.stdout)}
    assert found == wrong, done.stdout
    assert 'Revealed type is "pandas' in done.stdout
