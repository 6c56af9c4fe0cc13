"""The model of a run that ended without the server's help, from the server's state on disk."""

from pathlib import Path

from ..errors import EmulatorError
from .folder import RunFolder


def rescue_model(folder: RunFolder) -> str:
    """Write `model.npz` as the server's durable state has the model; return why not, if not.

    The state stays as it is. The server of the run is made in this process, and takes the inputs
    since its newest state: about 1 s of work.
    """
    try:
        _write(folder, folder.path / "model.npz")
    except (EmulatorError, ImportError, LookupError, OSError, TypeError, ValueError) as error:
        return f"no model.npz: the server's state gives none: {error}"
    return ""


def _write(folder: RunFolder, path: Path) -> None:
    """Write the model of the run in `folder` to `path`."""
    # late: these take long to import, and few commands need them
    from ..learners.export import exported
    from ..models import saved_model
    from ..models.saved_model import SavedModel
    from ..node.durable.recovery import last_state
    from ..node.server_role import from_plan
    from ..scenario import load
    from .data_split import split_data
    from .planning import plan

    scenario = load(folder.path / "scenario.yaml")
    training = scenario.training
    planned = plan(scenario, split_data(scenario).examples)
    initial = None if training.initial is None else Path(training.initial)
    graph = Path() if training.cut is None else exported(training.trainable)
    server = last_state(folder.server, planned, lambda log: from_plan(planned, log, initial, graph))
    state = server.model
    model = SavedModel(state.snapshot(), state.version, server.whole, state.optimizer_state())
    saved_model.write(path, model)
