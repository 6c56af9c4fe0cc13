"""Figures of studies, drawn and not written."""

from functools import cache
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from analysis.papers import study_figures
from analysis.papers.declaration import FigureSpec
from analysis.papers.folder import open_study
from analysis.papers.results import Results
from tests.analysis.drawn_figures import kept


@cache
def read(folder: Path) -> Results:
    """Return the results of the study in `folder`, which several tests draw."""
    return Results(open_study(folder))


@pytest.fixture
def drawn(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Return what draws a figure of the study and returns it."""

    def draw(**keys: object) -> Figure:
        figures = kept(monkeypatch)
        spec = FigureSpec("made-up", **keys)  # type: ignore[arg-type]
        study_figures.draw(read(folder), spec, tmp_path / "made-up.png")
        return figures["made-up.png"]

    return draw
