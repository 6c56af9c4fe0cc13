"""A report computes each fact of its run once, however many figures and tables show it."""

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import pandas as pd
import pytest

import analysis
from analysis import read
from analysis.facts.faults import outages
from analysis.pages.report import report
from analysis.pictures import drawing
from tests.fakes.runs.synthetic_run import Synthetic

PACKAGE = str(Path(analysis.__file__).parent)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    faults = [("crash", "fiber-1", 2.0, 3.0), ("partition", "adsl-0", 4.0, 5.0)]
    return Synthetic(devices=4, updates=60, faults=faults).write(tmp_path / "run")


class Profile:
    """Counts the calls of the package's named functions, as a context."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.frames: Counter[str] = Counter()
        """Calls of functions that turn a run into a frame, at the cost of reading its records."""

    def __enter__(self) -> "Profile":
        self._before = sys.getprofile()
        sys.setprofile(self._count)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(self._before)

    def _count(self, frame: FrameType, event: str, value: Any) -> None:
        code = frame.f_code
        if event != "return" or not code.co_filename.startswith(PACKAGE) or "<" in code.co_name:
            return
        name = f"{Path(code.co_filename).stem}.{code.co_name}"
        if frame.f_back and frame.f_back.f_code.co_name == code.co_name == "table":
            return  # a figure's table, made of the one that it refines
        self.calls[name] += 1
        arguments = code.co_varnames[: code.co_argcount]
        if arguments == ("run",) and isinstance(value, pd.DataFrame | pd.Series):
            self.frames[name] += 1


@pytest.fixture
def unsaved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are drawn, and not turned into files: that part takes seconds and reads no run."""
    monkeypatch.setattr(drawing, "save", lambda *anything, **more: Path())
    monkeypatch.setattr(drawing, "svg_of", lambda *anything, **more: "<svg></svg>")


@pytest.mark.slow
@pytest.mark.usefixtures("unsaved")
def test_each_fact_of_a_run_is_computed_once_for_a_report(folder: Path) -> None:
    with Profile() as profile:
        report(folder)
    del profile.frames["runs.known"]  # `fact` itself, which returns the kept value
    assert {name for name, count in profile.frames.items() if count > 1} == set()
    facts = ["faults.outages", "faults.actions", "traffic.rates"]
    facts += [
        "devices.devices",
        "reconcile.reconcile",
        "message_bytes.pushed_by_kind",
        "link_use.link_use",
    ]
    assert {name: profile.calls[name] for name in facts} == dict.fromkeys(facts, 1)
    tables: Counter[str] = Counter()
    for figure in analysis.FIGURES:  # the curves of scores share a module
        module = Path(figure.table.__code__.co_filename).stem
        tables[f"{module}.table"] += drawing.shown(figure, [read(folder)])
    assert len(tables) > 8 and {name: profile.calls[name] for name in tables} == tables


def test_runs_share_no_facts(folder: Path) -> None:
    first, second = read(folder), read(folder)
    assert outages(first) is outages(first)
    assert outages(first) is not outages(second)
    spared = replace(first, frames={**first.frames, "kill": first.records("kill").iloc[:0]})
    assert len(outages(spared)) < len(outages(first))


@pytest.mark.slow
def test_facts_stay_as_they_were_computed(folder: Path) -> None:
    """A caller that receives facts cannot change them."""
    run = read(folder)
    outages(run)
    before = {compute: _copy(value) for compute, value in run.known.items()}
    for figure in analysis.FIGURES:
        figure.table([run])
    for compute, value in before.items():
        if isinstance(value, pd.DataFrame):
            pd.testing.assert_frame_equal(value, run.known[compute])


def _copy(value: Any) -> Any:
    return value.copy() if isinstance(value, pd.DataFrame) else value
