"""Figures as they were drawn, in place of the files that they would have become."""

from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.pictures import picture_file


def kept(monkeypatch: pytest.MonkeyPatch) -> dict[str, Figure]:
    """Return the figures that are drawn from now on, by the names of their files.

    No file is written: every picture is written by `save_picture`, which has tests of its own.
    """
    figures: dict[str, Figure] = {}

    def keep(figure: Figure, path: Path, *_: Any, **_more: Any) -> Path:
        figures[path.name] = figure
        return path

    monkeypatch.setattr(picture_file, "save_picture", keep)
    return figures


def labelled(panel: Axes) -> dict[str, Line2D]:
    """Return the lines of `panel` by their labels."""
    return {str(line.get_label()): line for line in panel.get_lines()}


def legend(drawn: Axes | Figure) -> list[str]:
    """Return the entries of the only legend of `drawn`."""
    (found,) = drawn.legends if isinstance(drawn, Figure) else [drawn.get_legend()]
    return [text.get_text() for text in found.get_texts()] if found else []
