"""Checks of a model of one's own against the data, the loss and the schedule of a scenario."""

from typing import Any

from ...learning.models import Model, OwnModel
from ...world.stop_conditions import CONDITIONS
from .dataset_files import known_data
from .document import Document
from .own_model_file import known_model

_LOSS = ("training", "loss")


def check_own_model(document: Document) -> None:
    """Add to `document` the mistakes of a model of one's own, and those of a regression."""
    model, data = known_model(document), known_data(document)
    if model is None:
        return
    _check_loss(document, model)
    _check_parts(document, model)
    if data is not None and data.task.regression:
        _check_regression(document)


def _check_loss(document: Document, model: Model) -> None:
    loss = document.at(_LOSS)
    if not isinstance(loss, str):
        return
    if not isinstance(model, OwnModel) and loss != "crossentropy":
        document.complain(
            _LOSS,
            f"{model.name!r} is trained by crossentropy: leave loss out, or write a model of your "
            "own, as ./models.py:build",
        )


def _check_parts(document: Document, model: Model) -> None:
    """Check that the layers run apart from each other if the schedule wants that."""
    schedule: Any = document.at(("training", "schedule"))
    kind = schedule.get("kind") if isinstance(schedule, dict) else schedule
    if isinstance(model, OwnModel) and model.unstaged and kind not in (None, "sequential"):
        document.complain(
            ("training", "schedule"),
            f"the layers of {model.name!r} do not run apart from each other: {model.unstaged}: use "
            "sequential",
        )


def _check_regression(document: Document) -> None:
    for key, condition in CONDITIONS.items():
        if condition.regression and document.at(("stop", key)) is not None:
            document.complain(("stop", key), condition.regression)
    if document.at(("training", "fully_connected")) is not None:
        document.complain(
            ("training", "fully_connected"),
            "a cut model sends classes as labels, and the data has targets: leave it out",
        )
