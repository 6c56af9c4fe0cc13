"""What residual AdaComp costs in accuracy and what it saves, by its paper and on the wire."""

from collections.abc import Iterator, Sequence
from statistics import median

import numpy as np

from ..quantities import figures, percent
from ..runs import Run
from .folder import Row, Study, curve, ended
from .markdown import table

DENSE = "dense"
_PARTS = 6
"""Equal parts of a run, by updates, in which the compression is told."""


def tables(study: Study) -> str:
    """Accuracies beside those of dense training, and the compression as the run goes on."""
    return "\n\n".join(
        [
            "Accuracy, median of the seeds (least – most):",
            _accuracies(study),
            f"Compression in each sixth of a run, dense bytes over sent, median of the seeds. "
            f"{_PAPER}",
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
        found = {row.entry: _finals(row) for row in study.rows if row.world == world}
        for entry, finals in found.items():
            ends, bests = zip(*finals, strict=True)
            apart = [end - base for end, (base, _) in zip(ends, found[DENSE], strict=True)]
            difference = "" if entry == DENSE else f"{median(apart) * 100:+.2f} points"
            lines.append([f"{world}: {entry}", _span(ends), _span(bests), difference])
    return table(["", "ended at", "best", "ended, against dense with the same seed"], lines)


def _finals(row: Row) -> list[tuple[float, float]]:
    """For each seed, what it ended with and its best."""
    return [(ended(run), float(curve(run)["accuracy"].max())) for run in row.read()]


def _span(values: Sequence[float]) -> str:
    middle, least, most = (percent(one, 2) for one in (median(values), min(values), max(values)))
    return f"{middle} ({least} – {most})"


# -- compression -----------------------------------------------------------------------------------


def _compression(row: Row) -> Iterator[list[str]]:
    """A line for each kind of layer, and one for the wire."""
    seeds = [_ratios(run) for run in row.read()]
    for kind in seeds[0]:
        parts = [median(one[kind][part] for one in seeds) for part in range(_PARTS)]
        yield [f"{row.world}: {row.entry}, {kind}", *map(figures, parts)]


def _ratios(run: Run) -> dict[str, list[float]]:
    """For each kind of layer by the paper's count, and for the wire, the ratio in each part."""
    updates, told = run.records("update"), run.summary["paper_push_bytes"]
    parts = np.array_split(np.arange(len(updates)), _PARTS)
    ratios = {}
    for kind in (one for one in told if one != "bias"):
        dense = told[kind]["bytes"] * told[kind]["ratio"] / len(updates)
        counted = np.array([paper[kind] for paper in updates["paper"]])
        ratios[f"{kind}, as the paper counts"] = [dense / counted[part].mean() for part in parts]
    whole = run.summary["dense_push_bytes"] / len(updates)
    sent = updates[["values", "indices", "headers", "framing"]].sum(axis=1).to_numpy()
    ratios["on the wire"] = [whole / sent[part].mean() for part in parts]
    return ratios
