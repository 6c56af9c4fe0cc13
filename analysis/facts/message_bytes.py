"""The bytes of pushes: by kind, and against the same number of dense pushes.

A compression ratio depends on its byte model: the bytes of an index, and whether indices are
counted at all. So the ratio is given under several byte models, never as a single number.
"""

import pandas as pd

from ..reading.runs import Run, fact
from .pulls import whole_model

KINDS = ("values", "indices", "headers", "framing")

_BLOCK = 65_536


@fact
def by_kind(run: Run) -> pd.Series:
    """Return the bytes of all applied pushes: `values`, `indices`, `headers`, `framing`.

    Without records of updates the summary's bytes are taken.
    """
    updates = run.records("update")
    sums = run.summary.get("push_bytes", {})
    if updates.empty:
        return pd.Series({kind: int(sums.get(kind, 0)) for kind in KINDS})
    return updates[list(KINDS)].sum().astype("int64")


@fact
def dense(run: Run) -> float | None:
    """Return the bytes of the same number of dense pushes, or None if unknown.

    Without a summary the size of a dense push is that of a whole model.
    """
    if run.summary.get("dense_push_bytes") is not None:
        return float(run.summary["dense_push_bytes"])
    model, updates = whole_model(run), run.records("update")
    return None if model is None or updates.empty else model * len(updates)


@fact
def models(run: Run) -> pd.DataFrame:
    """Return push bytes and compression ratio under every byte model, with f32 values.

    Columns: `model`, `bytes`, `ratio` (dense bytes over `bytes`; NaN if unknown). Every row counts
    the same pushes: the ratio is at equal updates, not at equal accuracy.
    """
    updates = run.records("update")
    against = dense(run)
    if updates.empty or not against:
        return pd.DataFrame(columns=["model", "bytes", "ratio"])
    sizes = weights(updates, parameters(run))
    table = pd.DataFrame({"model": list(sizes), "bytes": list(sizes.values())})
    table["ratio"] = against / table["bytes"].where(table["bytes"] > 0)
    return table


def parameters(run: Run) -> int:
    """Return the number of parameters, estimated from the size of a dense push; 0 if unknown."""
    whole, count = dense(run), len(run.records("update"))
    return int(whole / count / 4) if whole and count else 0


def weights(updates: pd.DataFrame, size: int) -> dict[str, int]:
    """Return the bytes of `updates` under each byte model, for a model of `size` parameters.

    An update without indices is dense, so no byte model adds indices to it.
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
    """Return the compression ratio on the wire, from the summary or else from the records."""
    if run.summary.get("compression_ratio") is not None:
        return float(run.summary["compression_ratio"])
    sent, against = int(by_kind(run).sum()), dense(run)
    return against / sent if sent and against else None
