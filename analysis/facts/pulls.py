"""The bytes of pulls by devices, and of as many whole models.

The evaluator's pulls do not count: it stands on an unshaped link.
"""

from typing import Any

import pandas as pd

from ..reading.runs import Run, fact

EVALUATOR = "evaluator"

_WIDTHS = {"f16": 2}
"""Bytes of a parameter of a pull, by its coding; 4 by any other."""


@fact
def of_devices(run: Run) -> pd.DataFrame:
    """Return the records of the models that were sent to devices."""
    pulls = run.records("pull")
    return pulls[pulls["node"] != EVALUATOR]


@fact
def pulled(run: Run) -> int:
    """Return the bytes of the models sent to devices, from the records or else the summary."""
    if run.records("pull").empty:
        return int(run.summary.get("pull_bytes") or 0)
    return int(of_devices(run)["bytes"].sum())


@fact
def whole_model(run: Run) -> float | None:
    """Return the bytes of a whole float32 model, estimated from the largest pull; None without one.

    The first pull of a device is a whole model, whatever its later pulls are.
    """
    sent = of_devices(run)
    if sent.empty:
        return None
    training = run.scenario.get("training")
    pull: Any = training.get("pull") if isinstance(training, dict) else None
    values = pull.get("values") if isinstance(pull, dict) else None
    return float((sent["bytes"] / count(sent)).max()) * 4 / _WIDTHS.get(str(values), 4)


@fact
def dense(run: Run) -> float | None:
    """Return the bytes of as many whole models as were sent to devices, or None if unknown."""
    if run.summary.get("dense_pull_bytes") is not None:
        return float(run.summary["dense_pull_bytes"])
    model = whole_model(run)
    return None if model is None else model * int(count(of_devices(run)).sum())


def count(records: pd.DataFrame) -> "pd.Series[float]":
    """Return the pulls that each of the `records` stands for; the log leaves 1 out."""
    return records["count"].astype(float).fillna(1.0)
