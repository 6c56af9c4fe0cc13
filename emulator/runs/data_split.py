"""A scenario's data split: the data set and the devices' training examples."""

from dataclasses import dataclass

from ..costs.compute_groups import dealt_batches
from ..errors import ScenarioError
from ..learning import datasets
from ..learning.datasets import Dataset
from ..learning.datasets.split import Parts, owners_of, parts
from ..scenario import Scenario


@dataclass(frozen=True)
class DataSplit:
    """A data set, with the indices of every device's training examples."""

    data: Dataset
    parts: Parts

    @property
    def examples(self) -> dict[str, int]:
        """Number of training examples by name of device."""
        return {device: len(indices) for device, indices in self.parts.items()}


def split_data(scenario: Scenario) -> DataSplit:
    """Load the data set of `scenario` and split it between the devices; write no file.

    Raise DataError if the data set is missing or damaged, ScenarioError if a device would get too
    few examples for one mini-batch.
    """
    training, devices = scenario.training, [device.name for device in scenario.nodes]
    data = datasets.load(training.dataset)
    try:
        assigned = parts(
            training.split,
            data.train.labels,
            devices,
            scenario.seed,
            batch_size=training.batch_size,
            batch_sizes=dealt_batches(scenario),
            owners=owners_of(training.split, data),
        )
    except ValueError as error:
        raise ScenarioError(f"training.split: {error}") from error
    return DataSplit(data, assigned)
