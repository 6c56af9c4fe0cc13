"""Tables and figure of the study `reliability`: accuracy when devices crash."""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import mean, median

from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from ..pictures.picture_file import sheet
from ..pictures.theme import SERIES
from ..quantities import figures, percent, seconds, size
from ..reading.runs import Run
from .claim_rules import verdict
from .folder import Row, Study, curve, ended, spent, worlds
from .markdown import Values, measured, middle, rate, rows_table, span, table
from .panels import legend, ranges

TARGET = 0.9
_GOAL = percent(TARGET, 0)
SPAN = 100.0
"""Seconds that a run takes without crashes."""
CRASH_RATE, MTBF = "crash rate ", "MTBF "
"""Begins of the names of the worlds, before the crash rate in per cent or the MTBF in seconds."""
SURE = f"{CRASH_RATE}0 %"
"""World without crashes."""
BASE, TESTED = "ASGD", "AdaComp"
EQUAL = "equal"
"""Name of the claims that both algorithms end alike."""

_COLUMNS = {
    "crashes": middle("crashes", figures),
    "staleness": middle("staleness", lambda staleness: f"{staleness:.1f}"),
    "ended at": span("ended", percent),
    f"after {seconds(SPAN)}": span("in time", percent),
    f"{_GOAL} after": span("at", seconds),
    f"pushed to {_GOAL}": middle("pushed", size),
    f"pulled to {_GOAL}": middle("pulled", size),
    "both directions": middle("both", size),
}
_TRIED = {
    "learning rate": rate,
    "ended at": middle("ended", percent),
    f"updates to {_GOAL}": middle("updates", figures),
}


def tables(study: Study) -> str:
    """Return the verdicts, the results of each world, and the learning rates tried."""
    tried = measured([row for row in study.tried if row.world == SURE], _seed)
    both = _range(_savings(study, "both"))
    judged = verdicts(_gains(study), _savings(study, "pushed"))
    return "\n\n".join(
        [
            table(["claim", "here", "measured"], judged),
            f"In both directions {TESTED} takes, until {_GOAL}: {both}.",
            "Devices that crash for good, medians of the seeds (least – most):",
            _results(study, CRASH_RATE),
            "Devices that crash and come back, by the mean time between failures:",
            _results(study, MTBF),
            "Every learning rate that was tried without crashes, with one seed:",
            rows_table(tried, _TRIED, lambda row: row.entry),
        ]
    )


def verdicts(gains: Mapping[str, Mapping[str, float]], saved: Sequence[float]) -> list[list[str]]:
    """Return the lines of the claims: claim, verdict, and the numbers that decide.

    `gains` has for `TESTED`, `BASE` and `EQUAL` the gain of accuracy in each world with crashes, a
    fraction. A line judges the mean of the worlds, and the next line every one of them, of which
    the worst is low by chance too. `saved` has how many times fewer bytes `TESTED` pushed than
    `BASE` in each world.
    """
    lines = []
    for name, by_world in gains.items():
        values = list(by_world.values())
        worst = min(by_world, key=lambda world: by_world[world])
        least = f"{_points(by_world[worst])} at worst ({worst})"
        mean_words = f"{_points(mean(values))} in the mean"
        lines.append(verdict("reliability", f"{name} in the mean", mean_words, values))
        lines.append(verdict("reliability", f"{name} in each", least, values))
    return [*lines, verdict("reliability", "pushed", _range(saved), saved)]


# -- results ---------------------------------------------------------------------------------------


@cache
def _found(study: Study) -> dict[Row, Values]:
    return measured(study.rows, _seed)


def _seed(run: Run) -> dict[str, float]:
    """Return the results of `run`; `in time` is the accuracy at `SPAN`, of two evaluations."""
    points = curve(run)
    return {
        "crashes": len(run.records("kill")),
        "ended": ended(run),
        "in time": float(points.loc[points["at"] <= SPAN, "accuracy"].tail(2).mean()),
        "staleness": float(run.records("update")["staleness"].mean()),
        **spent(run, TARGET),
    }


def place(row: Row) -> float:
    """Return the crash rate of `row` in per cent, or its MTBF in seconds."""
    return float(row.world.removeprefix(CRASH_RATE).removeprefix(MTBF).split()[0])


def along(study: Study, axis: str, entry: str) -> list[Row]:
    """Return the rows of `entry` in the worlds of `axis`, in the order of their places."""
    own = [row for row in study.rows if row.entry == entry and row.world.startswith(axis)]
    return sorted(own, key=place)


def losses(study: Study, entry: str) -> dict[str, float]:
    """Return the loss of accuracy of `entry` in each world with crashes.

    The loss is the difference of the medians after all updates, without crashes and with crashes,
    as a fraction; a gain is negative.
    """
    ends = {world: median(pair[entry]["ended"]) for world, pair in _pairs(study).items()}
    return {world: ends[SURE] - end for world, end in ends.items() if world != SURE}


def _pairs(study: Study) -> dict[str, dict[str, Values]]:
    """Return the results of each entry by world."""
    found: dict[str, dict[str, Values]] = {world: {} for world in worlds(study.rows)}
    for row, values in _found(study).items():
        found[row.world][row.entry] = values
    return found


def _gains(study: Study) -> dict[str, dict[str, float]]:
    gains = {
        entry: {world: -loss for world, loss in losses(study, entry).items()}
        for entry in (TESTED, BASE)
    }
    gains[EQUAL] = {
        world: median(pair[TESTED]["ended"]) - median(pair[BASE]["ended"])
        for world, pair in _pairs(study).items()
        if world != SURE
    }
    return gains


def _savings(study: Study, key: str) -> list[float]:
    """Return how many times fewer bytes `key` `TESTED` took than `BASE`, by world."""
    pairs = [(median(own[BASE][key]), median(own[TESTED][key])) for own in _pairs(study).values()]
    return [base / tested for base, tested in pairs if math.isfinite(base)]


def _results(study: Study, axis: str) -> str:
    """Return the table of the worlds of `axis`, the world without crashes first or last."""
    rows = [row for entry in (BASE, TESTED) for row in along(study, axis, entry)]
    if axis == MTBF:
        rows += [row for entry in (BASE, TESTED) for row in along(study, SURE, entry)]
    # sorting is stable: both entries of a world stand together, `BASE` first
    rows.sort(key=lambda row: (row.world == SURE and axis == MTBF, place(row)))
    found = {row: _found(study)[row] for row in rows}
    return rows_table(found, _COLUMNS, lambda row: f"{row.world}: {row.entry}")


def _range(ratios: Sequence[float]) -> str:
    return f"{figures(min(ratios))} to {figures(max(ratios))} times fewer" if ratios else "–"


def _points(share: float) -> str:
    """Return `share`, a difference of accuracies, in points: `−0.4 points`."""
    return f"{share * 100:+.1f} points".replace("-", "−")


# -- figure ----------------------------------------------------------------------------------------

_NEVER = 2
"""Place of `never` on the axis of the MTBF, as a multiple of the largest MTBF."""
_STYLES = {
    BASE: {"marker": "o", "color": SERIES[0]},
    TESTED: {"marker": "s", "color": SERIES[1]},
}


def figure(study: Study, path: Path) -> None:
    """Draw accuracies above times to the target into `path`, a column for each kind of crash."""
    last = max(max(run.records("evaluation")["updates"]) for run in study.rows[0].read())
    labels = {
        "ended": f"Test accuracy (%)\nafter {figures(float(last))} updates",
        "in time": f"Test accuracy (%)\nafter {SPAN:g} s",
        "at": f"Time to {_GOAL}\ntest accuracy (s)",
    }
    with sheet(path, 7.2, 6.4) as drawn:
        grid = drawn.subplots(3, 2, sharex="col", sharey="row")
        for (key, label), panels in zip(labels.items(), grid, strict=True):
            panels[0].set_ylabel(label)
            for panel, axis in zip(panels, (CRASH_RATE, MTBF), strict=True):
                for entry in (BASE, TESTED):
                    _draw(panel, study, key, axis, entry)
        grid[2][0].set_ylim(0, None)
        grid[2][0].set_xlabel("Crash rate (% of the devices, for good)")
        _times(grid[2][1], [place(row) for row in along(study, MTBF, BASE)])
        legend(drawn, grid[0][0], 2, "outside upper center")


def _draw(panel: Axes, study: Study, key: str, axis: str, entry: str) -> None:
    """Draw the values `key` of `entry` along `axis`, without crashes at the end of the MTBF."""
    rows = along(study, axis, entry)
    places = [place(row) for row in rows]
    # the marks of the entries are moved apart, so that bars do not hide each other
    apart = -1 if entry == BASE else 1
    if axis == MTBF:
        rows, places = [*rows, *along(study, SURE, entry)], [*places, _NEVER * places[-1]]
        places = [at * 1.03**apart for at in places]
    else:
        places = [at + 0.5 * apart for at in places]
    scale = 1 if key == "at" else 100
    seeds = [[scale * value for value in _found(study)[row][key]] for row in rows]
    ranges(panel, places, seeds, label=entry, markersize=4, **_STYLES[entry])


def _times(panel: Axes, places: Sequence[float]) -> None:
    """Label the logarithmic axis of the MTBF, with `never` at its end."""
    panel.set_xscale("log")
    ends = [*places, _NEVER * places[-1]]
    panel.set_xticks(ends, [*(f"{at:g}" for at in places), "no\ncrashes"])
    panel.xaxis.set_minor_locator(NullLocator())
    panel.set_xlabel("Mean time between failures (s)")
