"""The metrics that a workload's programs printed, beside the bytes at the interfaces by then."""

import numpy as np
import pandas as pd

from ..reading.runs import Run, fact

SERVER, DRIVER = "server", "driver"
MAIN = (SERVER, DRIVER)
"""Nodes whose metrics speak for the whole run."""
COLUMNS = ("node", "name", "at", "value", "up", "down", "both")
ACCURACY = "accuracy"


@fact
def metrics(run: Run) -> pd.DataFrame:
    """Return a row for every number that a program printed: the columns `COLUMNS`.

    `at` is in seconds. `up` and `down` are the bytes at the node's interface by then, from the
    devices to the server and back, and `both` is their sum; of the driver they are the server's. A
    sample of the counters is taken each second, and between two of them the bytes are interpolated.
    """
    printed = run.records("metric")
    rows = [
        (node, str(name), at, value)
        for at, node, values in printed[["at", "node", "values"]].itertuples(index=False)
        for name, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    table = pd.DataFrame(rows, columns=["node", "name", "at", "value"])
    parts = [_with_bytes(run, str(node), own) for node, own in table.groupby("node", sort=False)]
    return pd.concat(parts) if parts else pd.DataFrame(columns=list(COLUMNS))


def _with_bytes(run: Run, node: str, own: pd.DataFrame) -> pd.DataFrame:
    samples = run.records("traffic")
    samples = samples[samples["node"] == (SERVER if node == DRIVER else node)].sort_values("at")
    ways = {"up": "rx", "down": "tx"} if node in MAIN else {"up": "tx", "down": "rx"}
    at = own["at"].to_numpy(float)
    known = {
        way: np.interp(at, samples["at"].to_numpy(float), samples[key].to_numpy(float), left=0.0)
        if len(samples)
        else np.zeros(len(at))
        for way, key in ways.items()
    }
    return own.assign(**known, both=known["up"] + known["down"])[list(COLUMNS)]


@fact
def accuracies(run: Run) -> pd.DataFrame:
    """Return the accuracies of the server or the driver in the columns of evaluations, with bytes.

    `push_bytes` are those that had reached the server's interface, and `pull_bytes` those that had
    left it. There are no updates.
    """
    printed = metrics(run)
    own = printed[printed["node"].isin(MAIN) & (printed["name"] == ACCURACY)]
    evaluations = run.records("evaluation").reindex(index=range(len(own)))
    return evaluations.assign(
        at=own["at"].to_numpy(float),
        accuracy=own["value"].to_numpy(float),
        push_bytes=own["up"].to_numpy(float),
        pull_bytes=own["down"].to_numpy(float),
        both_bytes=own["both"].to_numpy(float),
    )
