"""The model and the log of a run that ended without the server's help, from its state on disk."""

from pathlib import Path
from typing import NamedTuple

from ..errors import EmulatorError
from .folder import RunFolder


class Rescued(NamedTuple):
    """What the server's state told of the end of a run."""

    lines: list[bytes]
    """Last lines of the server's log that its end kept from `run.jsonl`."""
    failure: str = ""
    """Why there is no model; empty if there is one."""
    version: int = 0
    """Version of the model, if there is one."""
    older: str = ""
    """Both versions, and the reason, if the model is older than the log; else empty."""


def rescue(folder: RunFolder) -> Rescued:
    """Write `model.npz` as the server's durable state has the model.

    The state stays as it is. The server of the run is made in this process, and takes the inputs
    since its newest state: about 1 s of work. The server stores an input before it logs what came
    of it, so the model may contain updates that are only in `Rescued.lines`.
    """
    try:
        return _write(folder, folder.path / "model.npz")
    except (EmulatorError, ImportError, LookupError, OSError, TypeError, ValueError) as error:
        return Rescued([], f"no model.npz: the server's state gives none: {error}")


def _write(folder: RunFolder, path: Path) -> Rescued:
    """Write the model of the run in `folder` to `path`."""
    # late: these take long to import, and few commands need them
    from ..learning.learners.own_export import ready
    from ..learning.models import OwnModel, saved_model
    from ..learning.models.saved_model import SavedModel
    from ..node.durable.recovery import damage, last_state
    from ..node.part.server_role import from_plan
    from ..scenario import load
    from .data_split import split_data
    from .planning import plan

    scenario = load(folder.path / "scenario.yaml")
    training = scenario.training
    planned = plan(scenario, split_data(scenario).examples, contained=True)
    if planned.durability is None:
        raise EmulatorError("its scenario has no server.durability")
    initial = None if training.initial is None else Path(training.initial)
    needed = training.cut is not None or isinstance(training.network, OwnModel)
    graph = ready(training.network, scenario.seed) if needed else Path()
    server, lines, logged = last_state(
        folder.server, planned, lambda log: from_plan(planned, log, initial, graph)
    )
    state = server.model
    model = SavedModel(state.snapshot(), state.version, server.whole, state.optimizer_state())
    saved_model.write(path, model)
    if logged == state.version:
        return Rescued(lines, version=state.version)
    older = f"model.npz has version {state.version:,}, and the log's last is {logged:,}"
    reason = damage(folder.server) or ": the state on the disk ends there"
    return Rescued(lines, version=state.version, older=older + reason)
