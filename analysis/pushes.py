"""What the pushes weighed: by kind of byte, and against as many dense ones.

A compression ratio is a number only together with its byte model: what an index costs, and
whether it is counted at all. So the ratio is given under all of them, never as one number.
"""

import pandas as pd

from .facts import fact
from .runs import Run

KINDS = ("values", "indices", "headers", "framing")

_BLOCK = 65_536


@fact
def by_kind(run: Run) -> pd.Series:
    """Bytes of all applied pushes: `values`, `indices`, `headers`, `framing`, in this order."""
    updates = run.records("update")
    told = run.summary.get("push_bytes", {})
    if updates.empty:
        return pd.Series({kind: int(told.get(kind, 0)) for kind in KINDS})
    return updates[list(KINDS)].sum().astype("int64")


@fact
def dense(run: Run) -> float | None:
    """Bytes that as many dense pushes would weigh; without a summary, as many dense pulls."""
    if run.summary.get("dense_push_bytes") is not None:
        return float(run.summary["dense_push_bytes"])
    pulls, updates = run.records("pull"), run.records("update")
    if pulls.empty or updates.empty:
        return None
    return float(pulls["bytes"].median()) * len(updates)


@fact
def models(run: Run) -> pd.DataFrame:
    """Push bytes and compression ratio under each byte model (f32 values throughout).

    Columns: `model`, `bytes`, `ratio` (dense bytes over these; NaN if unknown). The same
    pushes are counted in each row: it is the ratio at equal updates, not at equal accuracy.
    """
    updates = run.records("update")
    against = dense(run)
    if updates.empty or not against:
        return pd.DataFrame(columns=["model", "bytes", "ratio"])
    weighed = weights(updates, parameters(run))
    table = pd.DataFrame({"model": list(weighed), "bytes": list(weighed.values())})
    table["ratio"] = against / table["bytes"].where(table["bytes"] > 0)
    return table


def parameters(run: Run) -> int:
    """About how many the model has, from what a dense push would weigh; 0 if nothing says."""
    whole, count = dense(run), len(run.records("update"))
    return int(whole / count / 4) if whole and count else 0


def weights(updates: pd.DataFrame, size: int) -> dict[str, int]:
    """Bytes of these updates under each byte model, for a model of `size` parameters.

    An update without indices is dense: no model charges it for any.
    """
    sparse = updates[updates["indices"] > 0]
    whole = 4 * int(updates["entries"].sum() - sparse["entries"].sum())
    entries, blocks = int(sparse["entries"].sum()), -(-size // _BLOCK)
    return {
        "f32 value, index not counted": whole + 4 * entries,
        "f32 value + u16 index in blocks of 65,536": whole + 6 * entries + 4 * blocks * len(sparse),
        "f32 value + u32 index (COO)": whole + 8 * entries,
        "f32 value + int64 index (IndexedSlices)": whole + 12 * entries,
        "as sent: values, indices, headers and framing": int(updates[list(KINDS)].sum().sum()),
    }


def ratio(run: Run) -> float | None:
    """The compression ratio on the wire: the run's own figure, else the one from its records."""
    if run.summary.get("compression_ratio") is not None:
        return float(run.summary["compression_ratio"])
    sent, against = int(by_kind(run).sum()), dense(run)
    return against / sent if sent and against else None
