"""Legends of many faults."""

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from analysis.drawing import WIDTH
from analysis.theme import legend_below


def test_a_legend_of_many_faults_is_no_wider_than_its_figure() -> None:
    figure = Figure(figsize=(WIDTH, 3), layout="constrained")
    FigureCanvasAgg(figure)
    legend_below(figure.subplots(), [Patch(label=f"availability-{n}: 10 times") for n in range(9)])
    figure.draw_without_rendering()
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.x1
    assert figure.get_figheight() > 3
