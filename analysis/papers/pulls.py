"""Table of the study `pulls`: time and bytes to a target accuracy, by pull coding."""

import math
from statistics import median

from ..quantities import figures, percent, seconds, size
from ..reading.runs import Run
from .folder import Study, spent
from .markdown import measured, middle, rows_table

TARGET = 0.97
_COLUMNS = {
    f"time to {percent(TARGET, 0)}": middle("at", seconds),
    "updates": middle("updates", figures),
    "pushed": middle("pushed", size),
    "pulled": middle("pulled", size),
    "both directions": middle("both", size),
    "updates/s": middle("pace", figures),
}


def tables(study: Study) -> str:
    """Return the result in words, and a table of the costs to reach the target.

    The words compare each entry with the first. The costs are medians of the seeds, the times
    emulated.
    """
    seeds = measured(study.rows, _seed)
    made = rows_table(seeds, _COLUMNS, lambda row: row.entry, "pull")
    (base, *others), costs = (
        study.rows,
        {row: {key: median(own) for key, own in values.items()} for row, values in seeds.items()},
    )

    def times(cost: dict[str, float], key: str) -> str:
        return figures(costs[base][key] / cost[key])

    sentences = [
        f"{row.entry} takes {times(cost, 'at')} times less time to {percent(TARGET, 0)}, "
        f"{times(cost, 'pulled')} times fewer bytes pulled and {times(cost, 'both')} times fewer "
        "in both directions"
        for row in others
        if math.isfinite(costs[base]["at"])
        and math.isfinite((cost := costs[row])["at"])
        and cost["pulled"]
    ]
    words = f"**Result.** Against {base.entry}: {'; '.join(sentences)}.\n\n" if sentences else ""
    return f"{words}{made}"


def _seed(run: Run) -> dict[str, float]:
    costs = spent(run, TARGET)
    # a target that was never reached has no rate
    pace = costs["updates"] / costs["at"] if math.isfinite(costs["at"]) else math.inf
    return {**costs, "pace": pace}
