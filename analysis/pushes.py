"""What the pushes weighed: by kind of byte, and against as many dense ones.

A compression ratio is a number only together with its byte model: what an index costs, and
whether it is counted at all. So the ratio is given under all of them, never as one number.
"""

import pandas as pd

from .runs import Run

KINDS = ("values", "indices", "headers", "framing")

_BLOCK = 65_536


def by_kind(run: Run) -> pd.Series:
    """Bytes of all applied pushes: `values`, `indices`, `headers`, `framing`, in this order."""
    updates = run.records("update")
    told = run.summary.get("push_bytes", {})
    if updates.empty:
        return pd.Series({kind: int(told.get(kind, 0)) for kind in KINDS})
    return updates[list(KINDS)].sum().astype("int64")


def dense(run: Run) -> float | None:
    """Bytes that as many dense pushes would weigh; without a summary, as many dense pulls."""
    if run.summary.get("dense_push_bytes") is not None:
        return float(run.summary["dense_push_bytes"])
    pulls, updates = run.records("pull"), run.records("update")
    if pulls.empty or updates.empty:
        return None
    return float(pulls["bytes"].median()) * len(updates)


def models(run: Run) -> pd.DataFrame:
    """Push bytes and compression ratio under each byte model (f32 values throughout).

    Columns: `model`, `bytes`, `ratio` (dense bytes over these; NaN if unknown). The same
    pushes are counted in each row: it is the ratio at equal updates, not at equal accuracy.
    """
    updates = run.records("update")
    against = dense(run)
    if updates.empty or not against:
        return pd.DataFrame(columns=["model", "bytes", "ratio"])
    entries, count = int(updates["entries"].sum()), len(updates)
    blocks = -(-int(against / count / 4) // _BLOCK)
    weighed = {
        "f32 value, index not counted": 4 * entries,
        "f32 value + u16 index in blocks of 65,536": 6 * entries + 4 * blocks * count,
        "f32 value + u32 index (COO)": 8 * entries,
        "f32 value + int64 index (IndexedSlices)": 12 * entries,
        "as sent: values, indices, headers and framing": int(by_kind(run).sum()),
    }
    table = pd.DataFrame({"model": list(weighed), "bytes": list(weighed.values())})
    table["ratio"] = against / table["bytes"].where(table["bytes"] > 0)
    return table


def ratio(run: Run) -> float | None:
    """The compression ratio on the wire: the run's own figure, else the one from its records."""
    if run.summary.get("compression_ratio") is not None:
        return float(run.summary["compression_ratio"])
    sent, against = int(by_kind(run).sum()), dense(run)
    return against / sent if sent and against else None
