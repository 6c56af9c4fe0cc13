"""A whole run on Docker: checks first, then the world, then the folder that remains."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docker import DockerClient

from ...learners.export import exported
from ...log.writing import read
from ...machine.host import Host, Load
from ...runs.conductor import RunView, run
from ...runs.data_split import Hands
from ...runs.folder import create
from ...runs.preflight import preflight
from ...runs.results import gather
from ...runs.session import Ending, Session
from ...scenario import Scenario, timeline
from ...shaping.backend import Backend
from .cleanup import sweep
from .client import connect
from .container_runtime import DockerRuntime
from .images import node_image
from .manifest import PACKAGES, facts
from .owners import owned, remove_dead
from .prepare import prepare
from .probing import backend_for, described


def play(scenario: Scenario, runs: Path, view: RunView) -> tuple[Path, dict[str, Any]]:
    """Play the scenario; the run's folder and its summary.

    What is missing is found before anything is made, the cheap things first. After that,
    whatever goes wrong is raised with the folder holding all that is known; if someone ends
    the run, that is no error.
    """
    os.umask(0o022)  # the containers' users must read what is mounted, whatever ours keeps private
    view.progress("data")
    host = Host.here()
    hands = preflight(scenario, "docker", host).require()
    if hands is None:
        raise TypeError("containers train, so their data is split")
    client = connect()
    found = node_image.require(client)
    remove_dead(client, view.progress)
    backend = backend_for(client, found.id, scenario)
    view.progress(f"shaping: {described(backend.plain())}")
    view.progress("graphs")
    graph = exported(scenario.training.model)
    folder = create(scenario.name, runs)
    session = Session(scenario, tuple(timeline(scenario)), folder, runtime="docker")
    played = _Played(session, client, hands, graph, backend, found, host, view)
    with owned(folder.run):
        return session.play(played.world, played.finish)


def require() -> None:
    """Raise a HostError that says what is missing, if there is no engine with our image."""
    node_image.require(connect())


@dataclass
class _Played:
    _session: Session
    _client: DockerClient
    _hands: Hands
    _graph: Path
    _backend: Backend
    _image: node_image.NodeImage
    _host: Host
    _view: RunView
    _runtime: DockerRuntime | None = None
    _load: Load = field(default_factory=Load)
    _left: tuple[str, ...] = ()
    """What could not be removed from the engine."""

    def world(self) -> None:
        """Bring it up, let it run, take it down."""
        session = self._session
        try:
            about = facts(self._client, session.scenario, self._host, self._backend, self._image)
            session.describe(self._host, PACKAGES, **about)
            world = prepare(
                session.scenario,
                session.folder,
                hands=self._hands,
                graph=self._graph,
                backend=self._backend,
                image=self._image.id,
                tell=self._view.progress,
            )
            folder, load = session.folder, self._load
            self._runtime = DockerRuntime(self._client, folder, world, self._view, load)
            run(session.scenario, session.timeline, self._runtime)
        finally:
            self._load.end()
            self._left = sweep(self._client, session.folder.run).left

    def finish(self, ending: Ending | None) -> dict[str, Any]:
        """Whatever happened, the folder is complete, and says how it ended."""
        session = self._session
        if ending is None and self._runtime and self._runtime.given_up:
            ending = Ending("failed", self._runtime.given_up)
        session.folder.discard_work()  # no container needs it, and a disk may be full
        gather(session.folder, ending.facts() if ending else None)
        records = read(session.folder.records)
        quotas = any(device.cpu is not None for device in session.scenario.nodes)
        return session.conclude(records, busy=self._load.busy, quotas=quotas, left=self._left)
