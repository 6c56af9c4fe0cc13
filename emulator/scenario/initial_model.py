"""The saved model that a scenario's training begins with (`training.initial`)."""

from pathlib import Path

from .. import optimizers, plugins
from ..errors import ScenarioError
from ..learning.models import saved_model
from ..learning.models.saved_model import SavedModel
from .sections.training_section import TrainingSection


def initial_model(training: TrainingSection) -> SavedModel | None:
    """Read the initial model of `training`; None if the weights are drawn from the seed.

    Raises ScenarioError if the file is no such model, or the state in it is damaged.
    """
    if training.initial is None:
        return None
    try:
        model = saved_model.read(Path(training.initial), training.layout)
        if model.optimizer is not None and model.optimizer.kind == training.optimizer.kind:
            descent = optimizers.make(plugins.plain(training.optimizer))
            descent.start(training.layout.size, training.learning_rate).restore(
                model.optimizer.arrays
            )
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ScenarioError(f"training.initial: {training.initial}: {why}") from error
    return model


def begins_without_state(training: TrainingSection) -> bool:
    """Return whether the optimizer begins at zero although the model to begin with was trained.

    It does if it has a state, and the file holds none of its kind.
    """
    model = initial_model(training)
    if model is None or (model.optimizer and model.optimizer.kind == training.optimizer.kind):
        return False
    own = optimizers.make(plugins.plain(training.optimizer)).start(1, training.learning_rate)
    return bool(own.state() or (model.optimizer and model.optimizer.arrays))
