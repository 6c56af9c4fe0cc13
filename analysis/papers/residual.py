"""Tables of the study `residual`: accuracy and compression of residual AdaComp."""

from collections.abc import Iterator, Sequence
from statistics import median

import numpy as np

from ..facts import both_directions, pulls, pushes
from ..quantities import figures, percent, size
from ..reading.runs import Run
from .folder import Row, Study, curve, ended
from .markdown import table

DENSE = "dense"
_PARTS = 6
"""Number of equal parts of a run, by updates, in which the compression is given."""


def tables(study: Study) -> str:
    """Return accuracies beside those of dense training, bytes, and compression over a run."""
    return "\n\n".join(
        [
            "Accuracy, median of the seeds (least – most):",
            _accuracies(study),
            "Bytes of a whole run, pushed, pulled and both, median of the seeds:",
            _traffic(study),
            "Compression of pushes in each sixth of a run, dense pushes over those sent, median of "
            f"the seeds; pulls are not in it. {_PAPER}",
            table(
                ["", *(f"{part + 1}" for part in range(_PARTS))],
                [line for row in study.rows if row.entry != DENSE for line in _compression(row)],
            ),
        ]
    )


_PAPER = (
    "By kind of layer as the paper counts (8 or 16 bits an entry, no scales, nothing to tell the "
    "bins apart); then all bytes on the wire."
)


# -- accuracy --------------------------------------------------------------------------------------


def _accuracies(study: Study) -> str:
    worlds = dict.fromkeys(row.world for row in study.rows)
    lines = []
    for world in worlds:
        entries = {row.entry: _finals(row) for row in study.rows if row.world == world}
        for entry, finals in entries.items():
            ends, bests = zip(*finals, strict=True)
            losses = [end - base for end, (base, _) in zip(ends, entries[DENSE], strict=True)]
            difference = "" if entry == DENSE else f"{median(losses) * 100:+.2f} points"
            lines.append([f"{world}: {entry}", _span(ends), _span(bests), difference])
    return table(["", "ended at", "best", "ended, against dense with the same seed"], lines)


def _finals(row: Row) -> list[tuple[float, float]]:
    """Return the final and the best accuracy of each seed."""
    return [(ended(run), float(curve(run)["accuracy"].max())) for run in row.read()]


def _span(values: Sequence[float]) -> str:
    spread = median(values), min(values), max(values)
    middle, least, most = (percent(value, 2) for value in spread)
    return f"{middle} ({least} – {most})"


# -- bytes -----------------------------------------------------------------------------------------


def _traffic(study: Study) -> str:
    """Return the table of the bytes of each direction and of both, beside dense training."""
    sums = {row: _sums(row) for row in study.rows}
    lines = []
    for row, (pushed, pulled, both) in sums.items():
        dense = next(own for r, own in sums.items() if (r.world, r.entry) == (row.world, DENSE))
        fewer = [figures(dense[0] / pushed), figures(dense[2] / both)]
        sizes = [size(pushed), fewer[0], size(pulled), size(both), fewer[1]]
        lines.append([f"{row.world}: {row.entry}", *sizes])
    columns = ["pushed", "× fewer pushed", "pulled", "both directions", "× fewer in both"]
    return table(["", *columns], lines)


def _sums(row: Row) -> tuple[float, float, float]:
    """Return the bytes pushed, pulled and of both directions, medians of the seeds."""
    seeds = [
        (float(pushes.by_kind(run).sum()), pulls.pulled(run), both_directions.both(run))
        for run in row.read()
    ]
    pushed, pulled, both = (median(column) for column in zip(*seeds, strict=True))
    return pushed, pulled, both


# -- compression -----------------------------------------------------------------------------------


def _compression(row: Row) -> Iterator[list[str]]:
    """Yield a line for each kind of layer, and a line for all bytes on the wire."""
    seeds = [_ratios(run) for run in row.read()]
    for kind in seeds[0]:
        parts = [median(seed[kind][part] for seed in seeds) for part in range(_PARTS)]
        yield [f"{row.world}: {row.entry}, {kind}", *map(figures, parts)]


def _ratios(run: Run) -> dict[str, list[float]]:
    """Return the compression ratios in each part of `run`: by the paper's count, and on the wire.

    The paper's count is given for each kind of layer.
    """
    updates, counts = run.records("update"), run.summary["paper_push_bytes"]
    parts = np.array_split(np.arange(len(updates)), _PARTS)
    ratios = {}
    for kind in (kind for kind in counts if kind != "bias"):
        dense = counts[kind]["bytes"] * counts[kind]["ratio"] / len(updates)
        counted = np.array([paper[kind] for paper in updates["paper"]])
        ratios[f"{kind}, as the paper counts"] = [dense / counted[part].mean() for part in parts]
    whole = run.summary["dense_push_bytes"] / len(updates)
    sent = updates[["values", "indices", "headers", "framing"]].sum(axis=1).to_numpy()
    ratios["on the wire"] = [whole / sent[part].mean() for part in parts]
    return ratios
