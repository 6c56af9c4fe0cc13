"""Metrics of a workload's programs over time or bytes, a panel for each metric: two figures."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes

from ..facts import metrics
from ..facts.faults import outages
from ..pictures.line_styles import line_styles
from ..pictures.theme import fault_keys, from_zero, legend_below, nothing, panels, shade
from ..quantities import size
from ..reading.labels import joined, stack
from ..reading.runs import Run

_LABELS = {"at": "time (s)", "both": "bytes at the interface, both directions"}
_MOST_PANELS, _MOST_LINES = 6, 8
_PANEL = 1.6
"""Height of a panel in inches."""


@dataclass(frozen=True)
class MetricFigure:
    """A figure of all metrics over the column `over`, with what a module has."""

    name: str
    over: str
    TITLE: str
    CAPTION: str

    @property
    def __name__(self) -> str:
        return self.name

    def shown(self, runs: Sequence[Run]) -> bool:
        """Return whether any of `runs` may have metrics."""
        return not runs or any(run.workload for run in runs)

    def table(self, runs: Sequence[Run]) -> pd.DataFrame:
        """Return metrics and outages: `run`, `node`, `what`, `at`, `until`, `both`, `value`.

        `what` is the name of a metric, with its `value` and the bytes by then, `both`; for an
        outage, which has neither, it is the kind of the fault.
        """
        return stack(runs, self._rows, ["node", "what", "at", "until", "both", "value"])

    def _rows(self, run: Run) -> pd.DataFrame:
        printed = metrics.metrics(run).rename(columns={"name": "what"})
        if printed.empty:
            return pd.DataFrame()
        struck = outages(run).rename(columns={"fault": "what"})
        return joined(printed[["node", "what", "at", "both", "value"]], struck)

    def height(self, table: pd.DataFrame) -> float:
        return 0.9 + _PANEL * max(1, len(_names(table)))

    def draw(self, table: pd.DataFrame, ax: Axes) -> None:
        names = _names(table)
        if not names:
            nothing(ax, "no program printed a metric")
            return
        printed = table[table["value"].notna()]
        struck = table[table["value"].isna()]
        alone = table["run"].nunique() == 1 and self.over == "at"
        grid = panels(ax, rows=len(names), columns=1, gap=0.25)
        for (panel,), name in zip(grid, names, strict=True):
            self._panel(panel, printed[printed["what"] == name])
            panel.set_ylabel(name)
            if alone:
                shade(panel, struck)
        last = grid[-1][0]
        last.set_xlabel(_LABELS[self.over])
        from_zero(last, float(printed[self.over].max()))
        if self.over == "both":
            last.xaxis.set_major_formatter(lambda value, _: size(value))
        if alone and not struck.empty:
            legend_below(ax, fault_keys(struck))

    def _panel(self, panel: Axes, own: pd.DataFrame) -> None:
        """Draw a line for each node of `own` with a metric, those of whole runs first."""
        keys = own[["run", "node"]].drop_duplicates().itertuples(index=False, name=None)
        ordered = sorted(keys, key=lambda key: key[1] not in metrics.MAIN)[:_MOST_LINES]
        several = own["run"].nunique() > 1
        labels = [f"{run} · {node}" if several else node for run, node in ordered]
        styles = line_styles(labels)
        for (run, node), label in zip(ordered, labels, strict=True):
            line = own[(own["run"] == run) & (own["node"] == node)]
            look = styles[label]
            panel.plot(line[self.over], line["value"], label=label, color=look.colour, linewidth=1)
        panel.legend(fontsize="x-small", loc="best")


def _names(table: pd.DataFrame) -> list[str]:
    """Return the names of the metrics that have a panel: those of whole runs first."""
    printed = table[table["value"].notna()]
    main = printed[printed["node"].isin(metrics.MAIN)]
    names = [*main["what"].unique(), *printed["what"].unique()]
    return list(dict.fromkeys(names))[:_MOST_PANELS]


metrics_time = MetricFigure(
    "metrics_time",
    "at",
    "Metrics over time",
    "Numbers that the programs printed, over the seconds of the run, a panel for each name and a "
    "line for each node; of many those of the server and the driver come first. Bands mark the "
    "times in which a fault held a device.",
)
metrics_bytes = MetricFigure(
    "metrics_bytes",
    "both",
    "Metrics over bytes",
    "Numbers that the programs printed, over the bytes of both directions at the interface of "
    "their node by then: of the server and the driver those at the server's interface.",
)
METRICS = (metrics_time, metrics_bytes)
"""The figures of metrics, in the order of the report."""
