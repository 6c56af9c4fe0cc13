"""Labels of ticks: as many as have room, on logarithmic axes and at given places."""

from itertools import pairwise

import pytest
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from analysis.pictures.theme import STYLE, log_ticks, name_ticks
from analysis.quantities import size


def boxes(ax: Axes) -> list[Bbox]:
    """Return the places of the labels of the horizontal axis of `ax`, from left to right."""
    ax.figure.draw_without_rendering()  # type: ignore[union-attr]
    low, high = ax.get_xlim()
    shown = [
        tick.label1.get_window_extent()
        for tick in ax.xaxis.get_major_ticks()
        if tick.label1.get_text() and low <= tick.get_loc() <= high
    ]
    return sorted(shown, key=lambda box: box.x0)


def axes(width: float) -> Axes:
    figure = Figure(figsize=(width, 2.0), layout="constrained")
    FigureCanvasAgg(figure)
    return figure.subplots()


@pytest.mark.parametrize("width", [1.5, 3.3, 7.0])
@pytest.mark.parametrize("ends", [(3.5e8, 1.6e10), (1e3, 1e10), (6e6, 2e7), (9e8, 1.1e9)])
def test_labels_of_a_logarithmic_axis_have_room(width: float, ends: tuple[float, float]) -> None:
    with rc_context(STYLE):
        ax = axes(width)
        ax.set(xscale="log", xlim=ends)
        log_ticks(ax.xaxis, *ends, size)
        found = boxes(ax)
        assert found
        assert all(one.x1 < other.x0 for one, other in pairwise(found))


def test_a_wide_logarithmic_axis_has_more_labels() -> None:
    counts = []
    for width in (1.5, 7.0):
        with rc_context(STYLE):
            ax = axes(width)
            ax.set(xscale="log", xlim=(3.5e8, 1.6e10))
            log_ticks(ax.xaxis, 3.5e8, 1.6e10, size)
            counts.append(len(boxes(ax)))
    assert counts == [2, 5]


def test_a_name_without_room_is_left_out() -> None:
    places, names = [100, 1, 0.5, 0.45, 0.1], ["100", "1", "0.5", "0.45", "0.1"]
    with rc_context(STYLE):
        ax = axes(3.3)
        ax.plot(places, places)
        ax.set_xscale("log")
        name_ticks(ax.xaxis, places, names)
        found = boxes(ax)
        assert all(one.x1 < other.x0 for one, other in pairwise(found))
        shown = [label.get_text() for label in ax.get_xticklabels()]
    assert shown == ["100", "1", "", "0.45", "0.1"]
    assert list(ax.get_xticks()) == places
