"""The bytes of activations, which cross the cut of a model beside pushes and pulls.

Only runs with `training.fully_connected` have them. `up` are activations and labels, `down` the
gradients by the activations; outputs and their gradients count too where labels stay on a device.
"""

from typing import NamedTuple

import pandas as pd

from ..reading.runs import Run, fact


class CutBytes(NamedTuple):
    """Bytes of the messages at the cut of a model in a whole run."""

    up: int
    """From the devices to the server."""
    down: int
    """From the server to the devices."""

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


def by_node(run: Run) -> "pd.Series[int]":
    """Return the bytes at the cut of each device, up and down together; empty without a cut."""
    answered = run.records("activations")
    return (answered["up"] + answered["down"]).groupby(answered["node"]).sum()
