"""The folder that `docker-compose.yml` mounts: a small run, to be looked at by hand.

The run has no conductor: no fault is played, and the server ends the run at a stop condition. The
folder has the form of a run folder: `emulate logs build/compose` reads it.
"""

import shutil
from pathlib import Path

from ....core.server.parameter_server import GATHERING
from ....errors import HostError, ScenarioError
from ....learning.learners.export import ready
from ....learning.models import OwnModel
from ....machine.made_files import claim, require_claimable
from ....runs.data_split import split_data
from ....runs.folder import RunFolder
from ....runs.plugin_sources import plugin_sources
from ....runs.results import replacing
from ....scenario import Scenario, dump
from ....scenario.timeline.compiled import timeline
from ....shaping.backend import Backend
from ....world.roles import SERVER
from ..engine.client import connect
from ..engine.probing import means_for
from ..images import node_image
from .container_settings import prepare

_KIND = "compose"
_SCENARIO = "scenario.yaml"


def lay_down(scenario: Scenario, path: Path, file: Path | None = None) -> Backend:
    """Fill `path/.work` with `NAME.json`, `shards/NAME/` and `graph/`, and empty `path/server`.

    Return the means of shaping. Compose starts no box: where the kernel has no netem, the receiver
    holds messages. The nodes find the server by the name that Compose gives the server. Files of
    earlier calls are removed. Raises a ScenarioError if the server would need files that Compose
    does not mount, and a HostError if `path` has files that `emulate compose` did not make, or if
    `file`, from which the scenario was read, would be replaced or removed.
    """
    _check(scenario)
    require_claimable(path, _KIND)
    _require_elsewhere(path, file)
    client = connect()
    image = node_image.require(client)
    means = means_for(client, image.id, scenario, timeline(scenario), boxes=False)
    split, graph = split_data(scenario), ready(scenario.training.network, scenario.seed)
    folder = RunFolder(path.resolve(), "compose")
    claim(path, _KIND)
    try:
        for left in (folder.work, folder.server):
            _remove(left)
        folder.records.unlink(missing_ok=True)
        folder.work.mkdir(mode=0o700)
        world = prepare(
            scenario,
            folder,
            split=split,
            graph=graph,
            means=means,
            image=image.id,
            tell=lambda step: None,
        ).by_hand()
        world.write_server(GATHERING)
        world.write_nodes({name: [SERVER] for name in world.nodes})
        shutil.copytree(graph, folder.work / "graph")
        with replacing(path / _SCENARIO) as sink:
            sink.write(dump(scenario).encode())
    except OSError as error:
        raise HostError(f"cannot write {path}: {error.strerror}") from error
    return means.backend


def _require_elsewhere(path: Path, file: Path | None) -> None:
    """Raise a HostError if the scenario's `file` is one that a call on the folder `path` replaces
    or removes."""
    ours = [path / name for name in (_SCENARIO, "run.jsonl", "server", ".work")]
    if file and any(file.resolve().is_relative_to(each.resolve()) for each in ours):
        raise HostError(f"{file} would be replaced: copy it out of {path} before")


def _remove(folder: Path) -> None:
    """Remove `folder`, or the link that is in its place."""
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)


def _check(scenario: Scenario) -> None:
    """Raise a ScenarioError naming each key for which `docker-compose.yml` mounts no file."""
    training = scenario.training
    own = isinstance(training.model, str) and isinstance(training.network, OwnModel)
    unmounted = {
        "model": (own or None, "your own model's layers"),
        "fully_connected": (training.cut, "the model's graph, to compute layers"),
        "initial": (training.initial, "a model to begin with"),
    }
    reasons = [
        f"training.{key}: docker-compose.yml gives the server no file with {content}: "
        "play the scenario with `emulate run`"
        for key, (value, content) in unmounted.items()
        if value is not None
    ]
    if scenario.bottlenecks:
        reasons.append(
            "bottlenecks: docker-compose.yml has no gateways: play the scenario with `emulate run`"
        )
    if scenario.background_of or any(each.background for each in scenario.bottlenecks):
        reasons.append(
            "background: docker-compose.yml has no senders beside the devices: play the scenario "
            "with --on virtual"
        )
    if scenario.network:
        reasons.append(
            "network: docker-compose.yml has no routers: play the scenario with --on virtual"
        )
    if scenario.server.shards > 1:
        reasons.append(
            "server.shards: docker-compose.yml has one server: play the scenario with `emulate run`"
        )
    if plugin_sources(training.parts, Path()):
        reasons.append(
            "plugins of your own: docker-compose.yml mounts no file with them: play the scenario "
            "with `emulate run`"
        )
    if scenario.evaluate.later:
        reasons.append(
            "evaluate.when: nothing measures once Compose has ended the run: write `during`, "
            "or play the scenario with `emulate run`"
        )
    if scenario.time is not None:
        reasons.append(
            "time: docker-compose.yml gives the containers no CPU quotas that could be divided: "
            "play the scenario with `emulate run`"
        )
    if reasons:
        raise ScenarioError("\n".join(reasons))
