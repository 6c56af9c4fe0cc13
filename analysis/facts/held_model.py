"""The updates and evaluations of a run whose effect the model holds.

After a crash the server may go on from an older version (`server.durability: {every: …}`). Updates
above that version stay in the log, as their messages did travel, but the model has lost them.
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..reading.runs import Run, fact


@fact
def held_updates(run: Run) -> pd.DataFrame:
    """Return the records of the updates of `run` that no recovery of the server lost."""
    return _held(run, run.records("update"))


@fact
def held_evaluations(run: Run) -> pd.DataFrame:
    """Return the records of the evaluations of `run`, of versions that no recovery lost."""
    return _held(run, run.records("evaluation"))


def count_updates(run: Run) -> int:
    """Return the number of updates that the model holds; the summary's without any record."""
    if run.records("update").empty:
        return int(run.summary.get("updates") or 0)
    return len(held_updates(run))


def _held(run: Run, records: pd.DataFrame) -> pd.DataFrame:
    recovered = run.records("recovered")
    if recovered.empty or records.empty:
        return records
    at, version = (records[key].to_numpy(float) for key in ("at", "version"))
    lost = _repeated(version) if records["version"].notna().all() else np.zeros(len(at), bool)
    for then, kept in recovered[["at", "version"]].astype(float).itertuples(index=False):
        lost |= (at < then) & (version > kept)
    return records[~lost]


def _repeated(versions: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which of `versions` have a smaller one later: the server went back below them.

    Decides for records at the very time of a recovery. Updates of one step share a version.
    """
    least = np.minimum.accumulate(versions[::-1])[::-1]
    return least < versions
