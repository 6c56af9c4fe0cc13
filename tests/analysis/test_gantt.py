"""Gantt charts of iterations: the lengths of phases, the hidden transfer, and the picture."""

import math
from fractions import Fraction
from pathlib import Path

import pytest

from analysis.gantt import GanttRow, gantt_row, png, segment_spans
from emulator.schedules import DynaComm, LayerByLayer, LayerCosts, Sequential, cut, timing

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


def test_rows_become_a_picture(tmp_path: Path) -> None:
    rows = [planned(Sequential()), planned(DynaComm())]
    path = png(rows, tmp_path / "new" / "chart.png", dpi=40)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_bar_thinner_than_its_edge_stays_visible(tmp_path: Path) -> None:
    from matplotlib.image import imread

    row = gantt_row(
        "thin",
        pull=[(1, 1)],
        push=[(1, 1)],
        pulled=[(0, 1)],
        forward=[(1, 2)],
        backward=[(0, 1)],
        pushed=[(1, 1.001)],
    )
    picture = imread(png([row], tmp_path / "thin.png"))[..., :3]
    orange = (picture[..., 0] > 0.7) & (picture[..., 2] < 0.3)
    columns = orange.any(axis=0).nonzero()[0]
    assert columns.max() > 0.9 * picture.shape[1]  # beyond the legend: the bar itself
