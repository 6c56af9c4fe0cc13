"""A scenario's data, dealt out to its devices."""

from dataclasses import dataclass

from .. import datasets
from ..datasets import Dataset
from ..datasets.split import Parts, parts
from ..errors import ScenarioError
from ..scenario import Scenario


@dataclass(frozen=True)
class Hands:
    """The data set, and which of its examples each device is dealt."""

    data: Dataset
    parts: Parts

    @property
    def examples(self) -> dict[str, int]:
        """Return the number of training examples of each device."""
        return {device: len(indices) for device, indices in self.parts.items()}


def deal(scenario: Scenario) -> Hands:
    """Split the scenario's data; writes nothing. A DataError if it is missing or damaged, a
    ScenarioError if some device would not get a single batch."""
    training, devices = scenario.training, [device.name for device in scenario.nodes]
    data = datasets.load(training.dataset)
    labels, size = data.train.labels, training.batch_size
    try:
        return Hands(data, parts(training.split, labels, devices, scenario.seed, batch_size=size))
    except ValueError as error:
        raise ScenarioError(f"training.split: {error}") from error
