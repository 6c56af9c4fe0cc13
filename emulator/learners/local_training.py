"""Local training: how far a device goes alone, from the model it gets to the update it sends."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LocalTraining:
    """So many mini-batches of SGD; or, if there are any, so many epochs over the device's data."""

    rate: float
    """The learning rate on the device."""
    steps: int = 1
    epochs: int = 0

    def batches(self, examples: int, batch_size: int) -> int:
        """Mini-batches that it takes, each epoch's last one perhaps a smaller one."""
        return self.epochs * -(-examples // batch_size) or self.steps
