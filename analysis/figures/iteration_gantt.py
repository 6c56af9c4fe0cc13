"""Gantt chart of an iteration: transfers above computing, the plan beside the measurement."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from ..facts.iterations import REALISED, DevicePlan, device_plans
from ..pictures import gantt
from ..pictures.gantt import PHASES, GanttBar, GanttRow
from ..pictures.theme import nothing
from ..reading.labels import stack
from ..reading.runs import Run

TITLE = "Transfer and computing in an iteration"
CAPTION = (
    "The link above, the processor below; numbers are layers. For the first device of each group, "
    "or of each run in a comparison, the first chart is the prediction of its last plan that was "
    "followed, the second one the last iteration under that plan. The sum is that of the forward "
    "and the backward phase, which the dashed line parts; the request, the server's work and the "
    "wait for other devices are left out. The transfer is hidden while the processor computes."
)

_MOST = 8
"""Largest number of charts."""

_COLUMNS = ["node", "chart", "phase", "first", "last", "begin", "end"]


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return a row for every bar.

    Columns: `run`, `node`, `chart` (`predicted` or `realised`), `phase` (a key of `PHASES`), the
    `first` and `last` layer, `begin` and `end` in seconds since the phase began.
    """
    return stack(runs, _rows, _COLUMNS)


def _rows(run: Run) -> pd.DataFrame:
    """Return the bars of the first device with a trace of each group of `run`."""
    plans: dict[str, DevicePlan] = {}
    for plan in device_plans(run):
        if plan.trace is not None:
            plans.setdefault(plan.group, plan)
    rows = chain.from_iterable(map(_bars, plans.values()))
    return pd.DataFrame(rows, columns=_COLUMNS)


def _bars(plan: DevicePlan) -> Iterator[tuple[Any, ...]]:
    for chart in filter(None, (plan.plan, plan.trace)):
        for phase in PHASES:
            for bar in getattr(chart, phase):
                yield plan.node, chart.label, phase, *bar.layers, bar.begin, bar.end


def draw(table: pd.DataFrame, ax: Axes) -> None:
    if table.empty:
        nothing(ax, "no device cut its pulls and pushes by layers")
        return
    gantt.draw_charts(_rows_by_title(table), ax)


def height(table: pd.DataFrame) -> float:
    """Return the height in inches for the charts of `table`."""
    return gantt.height(_rows_by_title(table))


def _rows_by_title(table: pd.DataFrame) -> dict[str, list[GanttRow]]:
    """Return the rows of each chart.

    Each device of a run has a chart. Several runs share a chart, as one axis compares them.
    """
    several = table["run"].nunique() > 1
    charts: dict[str, list[GanttRow]] = {}
    for (run, node, chart), own in _charts(table):
        label = f"{run if several else node}, {chart}"
        charts.setdefault("" if several else str(node), []).append(_row(label, own))
    return charts


def _charts(table: pd.DataFrame) -> list[tuple[Any, pd.DataFrame]]:
    """Return the bars of each chart, with its run, node and kind.

    Of several runs one device is shown each; of many, only the measurements.
    """
    runs = table["run"].nunique()
    if runs > 1:
        table = table[table["node"] == table.groupby("run")["node"].transform("first")]
    if 2 * runs > _MOST:
        table = table[table["chart"] == REALISED]
    return list(table.groupby(["run", "node", "chart"], sort=False))[:_MOST]


def _row(label: str, table: pd.DataFrame) -> GanttRow:
    bars: dict[str, list[GanttBar]] = {phase: [] for phase in PHASES}
    columns = ["phase", "first", "last", "begin", "end"]
    for phase, first, last, begin, end in table[columns].itertuples(index=False):
        bars[phase].append(GanttBar((first, last), begin, end))
    return GanttRow(label, **{phase: tuple(own) for phase, own in bars.items()})
