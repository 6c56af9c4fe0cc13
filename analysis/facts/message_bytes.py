"""The bytes of messages: pushes by kind, pulls by devices, activations at a cut, and their sums.

A compression ratio depends on its byte model: the bytes of an index, and whether indices are
counted at all. So the ratio is given under several byte models, never as a single number.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..reading.runs import Run, fact
from .held_model import held_evaluations
from .metrics import accuracies

KINDS = ("values", "indices", "headers", "framing")

_BLOCK = 65_536


@fact
def pushed_by_kind(run: Run) -> pd.Series:
    """Return the bytes of all applied pushes: `values`, `indices`, `headers`, `framing`.

    Without records of updates the summary's bytes are taken.
    """
    updates = run.records("update")
    sums = run.summary.get("push_bytes", {})
    if updates.empty:
        return pd.Series({kind: int(sums.get(kind, 0)) for kind in KINDS})
    return updates[list(KINDS)].sum().astype("int64")


@fact
def dense_push_bytes(run: Run) -> float | None:
    """Return the bytes of the same number of dense pushes, or None if unknown.

    Without a summary the size of a dense push is that of a whole model.
    """
    if run.summary.get("dense_push_bytes") is not None:
        return float(run.summary["dense_push_bytes"])
    model, updates = whole_model_bytes(run), run.records("update")
    return None if model is None or updates.empty else model * len(updates)


@fact
def byte_models(run: Run) -> pd.DataFrame:
    """Return push bytes and compression ratio under every byte model, with f32 values.

    Columns: `model`, `bytes`, `ratio` (dense bytes over `bytes`; NaN if unknown). Every row counts
    the same pushes: the ratio is at equal updates, not at equal accuracy.
    """
    updates = run.records("update")
    against = dense_push_bytes(run)
    if updates.empty or not against:
        return pd.DataFrame(columns=["model", "bytes", "ratio"])
    sizes = weights(updates, parameters(run))
    table = pd.DataFrame({"model": list(sizes), "bytes": list(sizes.values())})
    table["ratio"] = against / table["bytes"].where(table["bytes"] > 0)
    return table


def parameters(run: Run) -> int:
    """Return the number of parameters, estimated from the size of a dense push; 0 if unknown."""
    whole, count = dense_push_bytes(run), len(run.records("update"))
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


def push_ratio(run: Run) -> float | None:
    """Return the compression ratio on the wire, from the summary or else from the records."""
    if run.summary.get("compression_ratio") is not None:
        return float(run.summary["compression_ratio"])
    sent, against = int(pushed_by_kind(run).sum()), dense_push_bytes(run)
    return against / sent if sent and against else None


# -- pulls -----------------------------------------------------------------------------------------

EVALUATOR = "evaluator"
"""Role whose pulls do not count: it stands on an unshaped link."""

_WIDTHS = {"f16": 2}
"""Bytes of a parameter of a pull, by its coding; 4 by any other."""


@fact
def device_pulls(run: Run) -> pd.DataFrame:
    """Return the records of the models that were sent to devices."""
    pulls = run.records("pull")
    return pulls[pulls["node"] != EVALUATOR]


@fact
def pulled_bytes(run: Run) -> int:
    """Return the bytes of the models sent to devices, from the records or else the summary."""
    if run.records("pull").empty:
        return int(run.summary.get("pull_bytes") or 0)
    return int(device_pulls(run)["bytes"].sum())


@fact
def whole_model_bytes(run: Run) -> float | None:
    """Return the bytes of a whole float32 model, estimated from the largest pull; None without one.

    The first pull of a device is a whole model, whatever its later pulls are.
    """
    sent = device_pulls(run)
    if sent.empty:
        return None
    pull: Any = run.training.get("pull")
    values = pull.get("values") if isinstance(pull, dict) else None
    return float((sent["bytes"] / pull_counts(sent)).max()) * 4 / _WIDTHS.get(str(values), 4)


@fact
def dense_pull_bytes(run: Run) -> float | None:
    """Return the bytes of as many whole models as were sent to devices, or None if unknown."""
    if run.summary.get("dense_pull_bytes") is not None:
        return float(run.summary["dense_pull_bytes"])
    model = whole_model_bytes(run)
    return None if model is None else model * int(pull_counts(device_pulls(run)).sum())


def pull_counts(records: pd.DataFrame) -> "pd.Series[float]":
    """Return the pulls that each of the `records` stands for; the log leaves 1 out."""
    return records["count"].astype(float).fillna(1.0)


# -- activations -----------------------------------------------------------------------------------


class CutBytes(NamedTuple):
    """Bytes of the messages at the cut of a model in a whole run, with `training.fully_connected`.

    Outputs and their gradients count too where labels stay on a device.
    """

    up: int
    """From the devices to the server: activations and labels."""
    down: int
    """From the server to the devices: gradients by the activations."""

    @property
    def total(self) -> int:
        return self.up + self.down


@fact
def cut_bytes(run: Run) -> CutBytes:
    """Return the bytes at the cut, from the records or else from the summary; zeros without one."""
    answered = run.records("activations")
    if len(answered):
        return CutBytes(int(answered["up"].sum()), int(answered["down"].sum()))
    sums = run.summary.get("activation_bytes") or {}
    return CutBytes(int(sums.get("up") or 0), int(sums.get("down") or 0))


def cut_bytes_by_node(run: Run) -> "pd.Series[int]":
    """Return the bytes at the cut of each device, up and down together; empty without a cut."""
    answered = run.records("activations")
    return (answered["up"] + answered["down"]).groupby(answered["node"]).sum()


# -- both directions -------------------------------------------------------------------------------


def both_bytes(run: Run) -> int:
    """Return the bytes of both directions: pushes applied, models sent, activations."""
    return int(pushed_by_kind(run).sum()) + pulled_bytes(run) + cut_bytes(run).total


def dense_both_bytes(run: Run) -> float | None:
    """Return the bytes of the same updates and pulls without compression, or None if unknown.

    Activations cost the same.
    """
    up, down = dense_push_bytes(run), dense_pull_bytes(run)
    if up is None or down is None:
        return None
    return up + down + cut_bytes(run).total


def traffic_ratio(run: Run) -> float | None:
    """Return dense bytes over bytes, of both directions together; None if unknown.

    The ratio is from the summary, or else from the records.
    """
    if run.summary.get("traffic_ratio") is not None:
        return float(run.summary["traffic_ratio"])
    sent, against = both_bytes(run), dense_both_bytes(run)
    return against / sent if sent and against else None


@fact
def evaluations_with_bytes(run: Run) -> pd.DataFrame:
    """Return the evaluations of `run`, with `pull_bytes` and `both_bytes` beside `push_bytes`.

    They count the pulls and activations before the update that made the measured version.
    """
    if run.workload:
        return accuracies(run)
    evaluations = run.records("evaluation")
    pull = _before(evaluations, device_pulls(run), ["bytes"])
    crossed = _before(evaluations, run.records("activations"), ["up", "down"])
    both = evaluations["push_bytes"] + pull + crossed
    return evaluations.assign(pull_bytes=pull, both_bytes=both)


@fact
def held_evaluations_with_bytes(run: Run) -> pd.DataFrame:
    """Return the evaluations with their bytes, of versions that no recovery of the server lost."""
    if run.workload:
        return accuracies(run)
    return evaluations_with_bytes(run).loc[held_evaluations(run).index]


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
    return pd.Series(sums[: len(evaluations)], index=evaluations.index).astype(np.int64)
