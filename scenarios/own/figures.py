"""A figure for the report of a run, drawn from the tables of docs/from-python.md."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LossByDevice:
    """Loss by device.

    Loss on the mini-batches of each device, as a mean over `window` of its updates.
    """

    window: int = 20

    def draw(self, runs, ax):
        for device, updates in runs.updates.groupby("node"):
            mean = updates["loss"].rolling(self.window, min_periods=1).mean()
            ax.plot(updates["at"], mean, label=device)
        ax.set_xlabel("time (s)")
        ax.set_ylabel("loss")
        ax.legend()
