"""A whole run in containers: checks of the host, world, manifest, and the folder that stays."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker import DockerClient

from ...checks.preflight import preflight
from ...costs.host_dilation import with_dilation
from ...costs.host_limits import HostTables
from ...costs.prediction import prediction_facts
from ...errors import HostError
from ...learning.learners.export import ready
from ...log.lines import read
from ...log.verdicts.packet_lateness import Shaped
from ...machine import kernel
from ...machine.host import Host, Load
from ...machine.punctual import punctual
from ...runs.conductor import RunView, run
from ...runs.data_split import DataSplit
from ...runs.folder import create
from ...runs.replay import Replay
from ...runs.results import can_go_on, gather, keep, unmeasured
from ...runs.session import Ending, Session
from ...scenario import Scenario, Timed
from ...scenario.cores_and_memory import forked
from ...scenario.timeline.compiled import timeline
from ...shaping.backend import Backend, Delay
from .configs.container_settings import Means, Prepared, prepare
from .container_runtime import DockerRuntime
from .engine.cleanup import Removed, clean_up, clean_up_late
from .engine.client import connect, refusals
from .engine.endpoint import endpoint
from .engine.hosts import EngineHost, Hosts
from .engine.owners import owned, remove_dead
from .engine.probing import described, means_for, no_forks
from .forks import workers_words
from .images import node_image
from .images.node_image import NAME, NodeImage
from .late_measurement import measure_versions
from .workload.prepared_workload import PreparedWorkload, prepare_workload
from .workload.workload_image import programs_image
from .workload.workload_runtime import WorkloadRuntime

_QUEUES = {"htb": "htb, a queue for each member", "tbf": "tbf, one queue for all members"}
"""Words for the queues of bottlenecks in a gateway's container."""
PACKAGES = ("docker", "msgspec", "numpy", "pydantic", "pyzmq", "tensorflow")


def play(
    scenario: Scenario,
    runs: Path,
    view: RunView,
    *,
    replay: Replay | None = None,
    shaping: Delay | None = None,
    engines: "Engines | None" = None,
) -> tuple[Path, dict[str, Any]]:
    """Play `scenario` in containers; return the run's folder and its summary.

    `engines`: those of several hosts; None: the engine of this machine.

    Whatever the host lacks is refused before anything is created, the cheap checks first. Any
    later error is raised once the folder holds all that is known of the run. With `replay` its
    faults strike instead of the scenario's; `shaping` forces the means of delays. A canceled run is
    no error.
    """
    os.umask(0o022)  # the containers' users must read the mounted files, whatever our umask is
    if replay is not None:
        scenario = replay.of(scenario)
    engines = engines or Engines()
    scenario = dilated_for(engines.capacity(), engines.encrypted(scenario), view)
    planned = tuple(timeline(scenario)) if replay is None else replay.schedule(scenario)
    view.take_timeline(planned)
    ready = ready_for(scenario)(scenario, planned, view, shaping, engines)
    with ready.hosts:
        session = Session(scenario, planned, create(scenario.name, runs), engines.runtime)
        with conducting(ready, session, view) as conducted:
            replayed = {} if replay is None else replay.facts()
            session.describe(ready.host, PACKAGES, **ready.facts(scenario), **replayed)
            run(scenario, planned, conducted.runtime(ready.prepare(session, view), view))
    return session.folder.path, session.summary


class Engines:
    """The engines that play a run: as it stands, that of this machine."""

    runtime = "docker"
    """Name of the runtime, for the run's summary."""

    def capacity(self) -> Host:
        """Return what the hosts have together."""
        return Host.here()

    def tables(self, scenario: Scenario) -> Sequence[HostTables] | None:
        """Return the tables of hosts that can be read before `open`, as of a `Situation`."""
        return None

    def open(
        self,
        client: DockerClient,
        image: NodeImage,
        scenario: Scenario,
        probe: Callable[[EngineHost], Means],
        tell: Callable[[str], None],
    ) -> tuple[Hosts, Means]:
        """Return the hosts of a run of `scenario`, with its devices placed, and what all of them
        can do.

        `client` is that of this machine's engine; `image` has to be at each; `probe` returns the
        means of a host. Raises HostError if a host lacks something.
        """
        hosts = Hosts.here(client)
        return hosts, probe(hosts.home)

    def clean_up(self, client: DockerClient, run: str, tell: Callable[[str], None]) -> Removed:
        """Remove everything of `run`, whose conductor is dead, from the engines. `client` as of
        `open`; a refusal raises no error."""
        return clean_up(client, run)

    def encrypted(self, scenario: Scenario) -> Scenario:
        """Return `scenario` with its messages encrypted, if they leave this machine."""
        return scenario


@dataclass
class Conducted:
    """A conducted run: the facts that the end of the run needs."""

    hosts: Hosts
    session: Session
    load: Load
    was_over: bool = False
    """Whether the server had ended the run before this process began to conduct it."""
    made: DockerRuntime | None = None
    """The runtime; None while no containers have been asked for."""

    @property
    def over(self) -> bool:
        """Whether the server has ended the run by itself."""
        return self.was_over or (self.made is not None and self.made.over)

    def runtime(self, world: Prepared | PreparedWorkload, view: RunView) -> DockerRuntime:
        """Make the runtime of the containers of `world`."""
        around = self.hosts, self.session.folder
        if isinstance(world, PreparedWorkload):
            self.made = WorkloadRuntime(*around, world, view, self.load)
        else:
            self.made = DockerRuntime(*around, world, view, self.load)
        return self.made


@contextmanager
def conducting(
    ready: "HostParts | WorkloadParts", session: Session, view: RunView, *, was_over: bool = False
) -> Iterator[Conducted]:
    """Conduct the run of `session`, which the block plays, and complete its folder at the end.

    `view` shows the measurements that come after the run. A block without any containers completes
    the folder of a run that `was_over` already.
    """
    hosts, folder = ready.hosts, session.folder
    conducted = Conducted(hosts, session, Load(), was_over)
    left: tuple[str, ...] = ()
    with owned(folder.run), session:
        with session.playing(lambda: conducted.over):
            try:
                with punctual():  # faults come at their times, also on a host without a free core
                    yield conducted
            finally:
                session.ignore_signals()  # one would keep the containers from being removed
                conducted.load.end()
                late = conducted.made.unanswered if conducted.made else ()
                left = clean_up_late(hosts, folder.run, late)
        if session.ending is None and conducted.made and conducted.made.given_up:
            session.ending = Ending("failed", conducted.made.given_up)
        if _measures(session) and not isinstance(ready, WorkloadParts):
            test, image = ready.split.data.test, ready.image.id
            home = hosts.home.client
            left = (*left, *measure_versions(home, session, image, ready.graph, test, view))
        folder.discard_work()  # no container needs it any more, and a disk may be full
        _gather(session)
        shortest = conducted.made.shortest_delay if conducted.made else 0.0
        session.conclude(
            read(folder.records),
            left=left,
            shaped=Shaped(ready.backend.delay, shortest),
            hosts=hosts.devices(session.scenario),
        )


def _measures(session: Session) -> bool:
    """Return whether versions of the run wait, and are to be measured at its end.

    A signal that cancels the run asks for its end at once. A run that can go on is measured when it
    has.
    """
    canceled = session.ending is not None and session.ending.reason == "canceled"
    return not canceled and unmeasured(session.folder)


def _gather(session: Session) -> None:
    """Write the log and the model; keep the server's state if a failed run can go on from it."""
    folder, ending = session.folder, session.ending
    facts = ending.facts() if ending else None
    session.resumable = ending is not None and ending.reason == "failed" and can_go_on(folder)
    if not session.resumable:
        session.model = gather(folder, facts)
    else:
        session.model = keep(folder, facts)
    if session.model.note:
        session.notes.append(session.model.note)
    if session.resumable:
        session.notes.append(
            f"`emulate resume {folder.run}` goes on with it from the server's state"
        )


def require() -> None:
    """Raise a HostError if no engine answers, or if the engine lacks the node image."""
    node_image.require(connect())


@dataclass(frozen=True)
class WorkloadParts:
    """The parts of the hosts and their engines that a run of a workload needs."""

    hosts: Hosts
    means: Means
    image: NodeImage
    programs: str
    """Id of the image of the programs."""
    host: Host

    @property
    def backend(self) -> Backend:
        return self.means.backend

    def facts(self, scenario: Scenario) -> dict[str, Any]:
        """Return the entries for the manifest, beside those of `Session.describe`."""
        known = container_facts(self.hosts, scenario, self.host, self.backend, self.image)
        return {**known, "workload": {"image": scenario.described, "digest": self.programs}}

    def prepare(self, session: Session, view: RunView) -> PreparedWorkload:
        """Write the files of the sidecars."""
        images = self.image.id, self.programs
        return prepare_workload(session.scenario, session.folder, self.means, *images)


@dataclass(frozen=True)
class HostParts:
    """The parts of the hosts and their engines that a run in containers needs."""

    hosts: Hosts
    split: DataSplit
    graph: Path
    means: Means
    forks: str
    """Why each worker is executed; empty if the first ones are forked."""
    image: node_image.NodeImage
    host: Host
    predicted: dict[str, Any]
    """The manifest's entry on compute groups, measured on the idle host before the run."""

    @property
    def backend(self) -> Backend:
        return self.means.backend

    def facts(self, scenario: Scenario) -> dict[str, Any]:
        known = container_facts(self.hosts, scenario, self.host, self.backend, self.image)
        return {**known, "workers": workers_words(scenario, self.forks), **self.predicted}

    def prepare(self, session: Session, view: RunView) -> Prepared:
        return prepare(
            session.scenario,
            session.folder,
            split=self.split,
            graph=self.graph,
            means=self.means,
            image=self.image.id,
            forked=frozenset() if self.forks else forked(session.scenario),
            tell=view.progress,
        )


def dilated_for(host: Host, scenario: Scenario, view: RunView) -> Scenario:
    """Return `scenario` with the dilation that `host` needs in place of `auto`, and show it."""
    if scenario.time is None:
        return scenario
    scenario = with_dilation(scenario, host.cores)
    if scenario.dilation > 1:
        slower = f"an emulated second takes {scenario.dilation:g} s"
        view.progress(f"dilation: {scenario.dilation:g}, so {slower}")
    else:
        view.progress("dilation: 1, in real time")
    return scenario


def ready_for(scenario: Scenario) -> "Callable[..., HostParts | WorkloadParts]":
    """Return the function that checks the hosts for `scenario`: a training, or a workload."""
    return get_ready if scenario.workload is None else get_ready_for_workload


def get_ready_for_workload(
    scenario: Scenario,
    planned: Sequence[Timed],
    view: RunView,
    shaping: Delay | None,
    engines: Engines,
) -> WorkloadParts:
    """Do as `get_ready` for a workload: find, pull or build the image of its programs, too."""
    host = engines.capacity()
    preflight(scenario, engines.runtime, host).require()
    client = connect()
    image = node_image.require(client)
    remove_dead(client, view.progress)
    assert scenario.workload is not None
    programs = programs_image(client, scenario.workload, view.progress)
    means = means_for(client, image.id, scenario, planned, shaping, tell=view.progress)
    if means.backend.delay == "receiver":
        require_packets(scenario)
    view.progress(f"shaping: {described(means.backend.plain())}")
    return WorkloadParts(Hosts.here(client), means, image, programs, host)


def require_packets(scenario: Scenario) -> None:
    """Raise HostError if a link of a workload has a delay, and nobody delays packets here."""
    links = [scenario.server.link, *(device.link for device in scenario.nodes)]
    if any(side.delay for link in links for side in (link.up, link.down)):
        raise HostError(
            "delays need sch_netem, or /dev/net/tun in containers: nobody holds the messages of "
            "a workload's programs back"
        )


def get_ready(
    scenario: Scenario,
    planned: Sequence[Timed],
    view: RunView,
    shaping: Delay | None,
    engines: Engines,
) -> HostParts:
    """Check the hosts and the engine; remove from the engine what dead runs have left.

    `shaping` forces the means of delays.
    """
    view.progress("data")
    host = engines.capacity()
    tables = engines.tables(scenario)
    split = preflight(scenario, engines.runtime, host, tables=tables).require()
    if split is None:
        raise TypeError("containers train, so their data is split")
    client = connect()
    image = node_image.require(client)
    remove_dead(client, view.progress)

    def probe(host: EngineHost) -> Means:
        asked = host.client, image.id, scenario, planned, shaping
        return means_for(*asked, host=host, tell=view.progress)

    hosts, means = engines.open(client, image, scenario, probe, view.progress)
    try:
        return _parts(scenario, hosts, means, image, split, view)
    except BaseException:
        hosts.end()
        raise


def _parts(
    scenario: Scenario,
    hosts: Hosts,
    means: Means,
    image: NodeImage,
    split: DataSplit,
    view: RunView,
) -> HostParts:
    view.progress(f"shaping: {described(means.backend.plain())}")
    view.progress("graphs")
    graph = ready(scenario.training.network, scenario.seed)
    predicted = prediction_facts(scenario, view.progress, assumed=False)
    forks = no_forks(hosts.home.client, image.id, scenario)
    return HostParts(hosts, split, graph, means, forks, image, Host.here(), predicted)


def container_facts(
    hosts: Hosts, scenario: Scenario, host: Host, backend: Backend, image: NodeImage
) -> dict[str, Any]:
    """Return the entries for the manifest, beside those of `Session.describe`."""
    with refusals("asking the engine for its version"):
        engine = hosts.home.client.version()
    return {
        "image": {"name": NAME, "digest": image.id, "labels": image.labels},
        "kernel": host.kernel,
        "engine": engine["Version"],
        "endpoint": endpoint().plain(),
        "shaping": backend.plain(),
        "tcp": scenario.tcp.congestion if scenario.tcp else kernel.default_congestion(),
        "encrypted": scenario.server.encrypt,
        **bottlenecks(scenario, backend),
        **({"hosts": hosts.devices(scenario)} if hosts.several else {}),
        **({} if scenario.time is None else {"dilation": scenario.dilation}),
    }


def bottlenecks(scenario: Scenario, backend: Backend) -> dict[str, Any]:
    """Return the members of each bottleneck, and what holds its packets; nothing without any."""
    members = scenario.bottleneck_of
    entries = {
        each.name: {
            "queue": _QUEUES[backend.shared],
            "members": [name for name in members if members[name] is each],
        }
        for each in scenario.bottlenecks
    }
    return {"bottlenecks": entries} if entries else {}
