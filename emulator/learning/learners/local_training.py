"""Local training: the steps of a device between a model it gets and the update it sends."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LocalTraining:
    """`steps` mini-batches of SGD; or `epochs` passes over the device's data, if not zero."""

    rate: float
    """Learning rate on the device."""
    steps: int = 1
    """Mini-batches of an update, if `epochs` is zero."""
    epochs: int = 0
    """Passes over the device's data for an update; zero means `steps` instead."""

    def batches(self, examples: int, batch_size: int) -> int:
        """Return the mini-batches of an update; the last one of each epoch may be smaller."""
        return self.epochs * -(-examples // batch_size) or self.steps
