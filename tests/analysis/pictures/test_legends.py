"""Legends of many faults."""

import pytest
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from analysis.pictures.drawing import WIDTH
from analysis.pictures.theme import STYLE, legend_below


def test_a_legend_of_many_faults_is_no_wider_than_its_figure() -> None:
    figure = Figure(figsize=(WIDTH, 3), layout="constrained")
    FigureCanvasAgg(figure)
    legend_below(figure.subplots(), [Patch(label=f"availability-{n}: 10 times") for n in range(9)])
    figure.draw_without_rendering()
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.x1
    assert figure.get_figheight() > 3


def test_a_second_legend_below_joins_the_first() -> None:
    """Faults and the load of the host have entries there; two legends would overlap."""
    figure = Figure(figsize=(WIDTH, 3), layout="constrained")
    FigureCanvasAgg(figure)
    ax = figure.subplots()
    with rc_context(STYLE):
        legend_below(ax, [Patch(label=f"{'crash of a device':40} {n}") for n in range(3)])
        legend_below(ax, [Patch(facecolor="#123456", label="host")])
    (legend,) = figure.legends
    assert [text.get_text()[-4:] for text in legend.get_texts()] == ["   0", "   1", "   2", "host"]
    assert to_hex(legend.legend_handles[-1].get_facecolor()) == "#123456"
    assert figure.get_figheight() == pytest.approx(3.17, abs=0.01)  # one more line than fits
