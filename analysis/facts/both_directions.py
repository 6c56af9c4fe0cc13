"""The bytes of both directions together: pushes, pulls by devices, and activations of a cut."""

import numpy as np
import pandas as pd

from ..reading.runs import Run, fact
from . import activations, pulls
from . import message_bytes as pushes
from .held_model import held_evaluations


def both(run: Run) -> int:
    """Return the bytes of both directions: pushes applied, models sent, activations."""
    return int(pushes.by_kind(run).sum()) + pulls.pulled(run) + activations.cut_bytes(run).total


def dense(run: Run) -> float | None:
    """Return the bytes of the same updates and pulls without compression, or None if unknown.

    Activations cost the same.
    """
    up, down = pushes.dense(run), pulls.dense(run)
    if up is None or down is None:
        return None
    return up + down + activations.cut_bytes(run).total


def ratio(run: Run) -> float | None:
    """Return `dense` over `both`, from the summary or else from the records; None if unknown."""
    if run.summary.get("traffic_ratio") is not None:
        return float(run.summary["traffic_ratio"])
    sent, against = both(run), dense(run)
    return against / sent if sent and against else None


@fact
def measured(run: Run) -> pd.DataFrame:
    """Return the evaluations of `run`, with `pull_bytes` and `both_bytes` beside `push_bytes`.

    They count the pulls and activations before the update that made the measured version.
    """
    evaluations = run.records("evaluation")
    pull = _before(evaluations, pulls.of_devices(run), ["bytes"])
    crossed = _before(evaluations, run.records("activations"), ["up", "down"])
    both = evaluations["push_bytes"] + pull + crossed
    return evaluations.assign(pull_bytes=pull, both_bytes=both)


@fact
def held(run: Run) -> pd.DataFrame:
    """Return the rows of `measured` of versions that no recovery of the server lost."""
    return measured(run).loc[held_evaluations(run).index]


def _before(
    evaluations: pd.DataFrame, records: pd.DataFrame, columns: list[str]
) -> "pd.Series[int]":
    """Return, for each of `evaluations`, the sum of `columns` of the `records` before its version.

    Of the records at the very time of the version, those of earlier versions are before it.
    """
    if records.empty or evaluations.empty:
        return pd.Series(0, index=evaluations.index)
    places = np.arange(len(evaluations) + len(records))
    at, version = (
        np.concatenate([frame[key].to_numpy(float) for frame in (evaluations, records)])
        for key in ("at", "version")
    )
    sizes = records[columns].sum(axis=1).to_numpy(float)
    weights = np.concatenate([np.zeros(len(evaluations)), sizes])
    # the evaluations have the first places, so one comes before the pulls of its own version
    order = np.lexsort((places, version, at))
    sums = np.empty(len(places))
    sums[order] = weights[order].cumsum()
    return pd.Series(sums[: len(evaluations)].astype(np.int64), index=evaluations.index)
