"""Gantt charts of iterations: the lengths of phases, the hidden transfer, and the picture."""

import math
from fractions import Fraction
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from analysis.pictures.gantt import GanttRow, draw_charts, gantt_row, height, png, segment_spans
from emulator.schedules import DynaComm, LayerByLayer, LayerCosts, Sequential, cut, timing
from tests.analysis.drawn_figures import legend

COSTS = LayerCosts((1, 1, 2), (1, 3, 1), (2, 6, 2), (1, 1, 2), Fraction(2), Fraction(2))
"""Costs with which neither `sequential` nor `layer-by-layer` is best."""


def planned(schedule: Sequential | LayerByLayer | DynaComm) -> GanttRow:
    cuts = cut(schedule, COSTS)
    times = timing.iteration(cuts, COSTS)
    return gantt_row(
        schedule.kind,
        pull=cuts.pull,
        push=cuts.push,
        pulled=times.forward.transfers,
        forward=segment_spans(cuts.pull, times.forward.computes),
        backward=segment_spans(cuts.push, times.backward.computes),
        pushed=times.backward.transfers,
    )


@pytest.mark.parametrize(
    ("schedule", "forward", "backward", "hidden"),
    [
        (Sequential(), 11, 16, 0),
        # pulls of 3 + 3 + 4: 1 of the second and 3 of the third; pushes of 4 + 3 + 3: 4 and 2
        (LayerByLayer(), 11, 14, 10 / 20),
        # pulls of 4 + 4, of which 4 are hidden; pushes of 4 + 4, of which 4 are
        (DynaComm(), 9, 14, 8 / 16),
    ],
)
def test_a_row_has_the_phases_lengths_and_the_hidden_transfer(
    schedule: Sequential | LayerByLayer | DynaComm, forward: int, backward: int, hidden: float
) -> None:
    row = planned(schedule)
    assert (row.t_forward, row.t_backward) == (forward, backward)
    assert row.hidden == pytest.approx(hidden)


def test_a_row_without_transfers_hides_nothing() -> None:
    row = gantt_row("none", pull=[], push=[], pulled=[], forward=[], backward=[], pushed=[])
    assert (row.t_forward, row.t_backward) == (0, 0)
    assert math.isnan(row.hidden)


def test_spans_of_segments_reach_over_their_layers() -> None:
    assert segment_spans([(3, 3), (1, 2)], [(4, 9), (2, 4), (0, 2)]) == [(0, 2), (2, 9)]


def test_a_chart_has_the_bars_and_the_turn_of_each_row() -> None:
    """Rows stand from the top; a chart is drawn from its foot."""
    ax = Figure().subplots()
    draw_charts({"": [planned(Sequential()), planned(DynaComm())]}, ax)
    assert [text.get_text() for text in ax.texts if " + " in text.get_text()] == [
        "dynacomm: 9 + 14 = 23 s, 50 % of the transfer hidden",
        "sequential: 11 + 16 = 27 s, 0 % of the transfer hidden",
    ]
    assert [line.get_xdata()[0] for line in ax.get_lines()] == [9, 11]
    assert [len(bars.get_paths()) for bars in ax.collections] == [*[2] * 4, *[1] * 4]
    first, *_ = ax.collections[4:]  # the pull of `sequential`: set-up 2, transfers 1 + 1 + 2
    assert first.get_paths()[0].get_extents().intervalx == pytest.approx([0, 6])
    assert legend(ax) == ["pull", "forward pass", "backward pass", "push"]


@pytest.mark.parametrize("length", [0.0001, 0.005, 0.01])
def test_a_thin_bar_is_visible_and_no_wider_than_it_is(length: float, tmp_path: Path) -> None:
    row = gantt_row(
        "thin",
        pull=[(1, 1)],
        push=[(1, 1)],
        pulled=[(0, 1)],
        forward=[(1, 2)],
        backward=[(0, 1)],
        pushed=[(0.5, 0.5 + length)],
    )
    picture = imread(png({"": [row]}, tmp_path / "thin.png"))[..., :3]
    orange = (picture[..., 0] > 0.7) & (picture[..., 2] < 0.5) & (picture[..., 1] < 0.7)
    columns = orange.any(axis=0).nonzero()[0]
    bar = columns[columns > 0.7 * picture.shape[1]]  # beyond the legend
    exact = length / 3 * 0.9 * picture.shape[1]
    assert 1 <= bar.size <= exact + 2  # a pixel, and the halves of one at both edges


def test_charts_of_several_devices_have_an_axis_each() -> None:
    ax = Figure(layout="constrained").subplots()
    slow, fast = planned(Sequential()), planned(DynaComm())
    draw_charts({"slow": [slow], "fast": [slow, fast]}, ax)
    panels = [panel for panel in ax.figure.axes if panel is not ax]
    assert [panel.get_ylabel() for panel in panels] == ["slow", "fast"]
    assert [panel.get_legend() is not None for panel in panels] == [True, False]
    assert not ax.axison
    assert height({"slow": [slow], "fast": [slow, fast]}) > height({"": [slow, slow, fast]})
