"""Tables of the study `residual`: accuracy and compression of residual AdaComp."""

from statistics import median

import numpy as np

from ..facts.message_bytes import KINDS, both_bytes, pulled_bytes, pushed_by_kind
from ..quantities import figures, percent, size
from ..reading.runs import Run
from .folder import Row, Study, curve, ended
from .markdown import Values, fewer, measured, middle, rows_table, span, table

DENSE = "dense"
_PARTS = 6
"""Number of equal parts of a run, by updates, in which the compression is given."""


def tables(study: Study) -> str:
    """Return accuracies beside those of dense training, bytes, and compression over a run."""
    seeds = measured(study.rows, _seed)
    dense = {row.world: values for row, values in seeds.items() if row.entry == DENSE}

    def lost(row: Row, values: Values) -> str:
        pairs = zip(values["ended"], dense[row.world]["ended"], strict=True)
        points = median(end - base for end, base in pairs) * 100
        return "" if row.entry == DENSE else f"{points:+.2f} points"

    accuracies = {
        "ended at": span("ended", _percent),
        "best": span("best", _percent),
        "ended, against dense with the same seed": lost,
    }
    traffic = {
        "pushed": middle("pushed", size),
        "× fewer pushed": fewer(seeds, "pushed", DENSE),
        "pulled": middle("pulled", size),
        "both directions": middle("both", size),
        "× fewer in both": fewer(seeds, "both", DENSE),
    }
    compressed = measured([row for row in study.rows if row.entry != DENSE], _ratios)
    lines = [
        [f"{_name(row)}, {kind}", *(figures(median(values[f"{kind}{n}"])) for n in range(_PARTS))]
        for row, values in compressed.items()
        for kind in dict.fromkeys(key[:-1] for key in values)
    ]
    return "\n\n".join(
        [
            "Accuracy, median of the seeds (least – most):",
            rows_table(seeds, accuracies, _name),
            "Bytes of a whole run, pushed, pulled and both, median of the seeds:",
            rows_table(seeds, traffic, _name),
            "Compression of pushes in each sixth of a run, dense pushes over those sent, median of "
            "the seeds; pulls are not in it. By kind of layer as the paper counts (8 or 16 bits an "
            "entry, no scales, nothing to tell the bins apart); then all bytes on the wire.",
            table(["", *(f"{part + 1}" for part in range(_PARTS))], lines),
        ]
    )


def _name(row: Row) -> str:
    return f"{row.world}: {row.entry}"


def _percent(share: float) -> str:
    return percent(share, 2)


def _seed(run: Run) -> dict[str, float]:
    return {
        "ended": ended(run),
        "best": float(curve(run)["accuracy"].max()),
        "pushed": float(pushed_by_kind(run).sum()),
        "pulled": pulled_bytes(run),
        "both": both_bytes(run),
    }


def _ratios(run: Run) -> dict[str, float]:
    """Return the compression ratios of `run`, by kind of layer and number of the part.

    The paper's count is given for each kind of layer, then that of all bytes on the wire.
    """
    updates, counts = run.records("update"), run.summary["paper_push_bytes"]
    parts = np.array_split(np.arange(len(updates)), _PARTS)
    sizes = {
        f"{kind}, as the paper counts": (
            counts[kind]["bytes"] * counts[kind]["ratio"] / len(updates),
            np.array([paper[kind] for paper in updates["paper"]]),
        )
        for kind in counts
        if kind != "bias"
    }
    sent = updates[list(KINDS)].sum(axis=1).to_numpy()
    sizes["on the wire"] = run.summary["dense_push_bytes"] / len(updates), sent
    return {
        f"{kind}{number}": dense / counted[part].mean()
        for kind, (dense, counted) in sizes.items()
        for number, part in enumerate(parts)
    }
