"""Warnings about data and models of the user's own that may be understood otherwise than meant."""

from ..learning.datasets import OwnDataset, describe
from ..learning.models import OwnModel
from ..scenario.demand import Shortfall
from ..scenario.model import Scenario


def own_part_warnings(scenario: Scenario) -> list[Shortfall]:
    """Return a warning for each doubt about the data of `scenario`, and for a model that is
    compiled: a run takes loss and optimizer from the scenario alone."""
    training = scenario.training
    messages = []
    if isinstance(training.dataset, OwnDataset):
        described = describe(training.dataset)
        messages += [f"dataset: {described.name}: {note}" for note in described.notes]
    model = training.network if isinstance(training.model, str) else None
    if isinstance(model, OwnModel) and model.compiled:
        messages.append(
            f"model: {model.title} is compiled with {model.compiled}, which no run uses: the loss "
            f"is {model.origin.loss}, the optimizer {training.optimizer.kind}: set training.loss "
            "and training.optimizer"
        )
    return [Shortfall("warning", message) for message in messages]
