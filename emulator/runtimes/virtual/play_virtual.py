"""A whole run in virtual time: one process, without Docker and without root."""

import gc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from ...checks.preflight import preflight
from ...core import assembly
from ...core.plan import Plan
from ...core.server.parameter_server import ParameterServer
from ...costs.computing_times import needs_layers, with_layers, with_times
from ...costs.prediction import prediction_facts
from ...errors import EmulatorError
from ...log.lines import RunLog, read
from ...log.records import StopRecord
from ...machine.host import Host
from ...node.part.server_chores import Checkpoints, save
from ...runs.conductor import RunView, run
from ...runs.folder import RunFolder, create
from ...runs.planning import plan
from ...runs.replay import Replay
from ...runs.results import ModelOrigin, put_in_order
from ...runs.resumption import CheckedLog, DeadRun
from ...runs.session import Session
from ...scenario import Scenario, Timed
from ...scenario.timeline.compiled import timeline
from ...units import Seconds
from ...world.laws import Fixed
from .learning.trajectory import MeasuredState
from .run_parts import RunParts, run_parts
from .virtual_runtime import VirtualRuntime
from .workers import Workers

PACKAGES = ("msgspec", "numpy", "pydantic", "tensorflow")
_AT_ONCE = Fixed(Seconds(0))
SERVED = dict.fromkeys(("rate", "delay", "loss", "cut"), "virtual")


def play(
    scenario: Scenario,
    runs: Path,
    view: RunView,
    *,
    cores: int | None = None,
    replay: Replay | None = None,
) -> tuple[Path, dict[str, Any]]:
    """Play `scenario` into a new folder in `runs`; return that folder and the summary.

    All that is missing is reported before a file is written. `cores` threads compute gradients
    (None: as many as this process may use); the number changes no bit of the run. With `replay` its
    faults strike instead of the scenario's. A cancelled run is no error.
    """
    if replay is not None:
        scenario = replay.of(scenario)
    schedule = tuple(timeline(scenario)) if replay is None else replay.schedule(scenario)
    replayed = {} if replay is None else replay.facts()
    folder = partial(create, scenario.name, runs)
    return _played(scenario, schedule, folder, view, cores=cores, replayed=replayed)


def resume(
    dead: DeadRun, view: RunView, *, cores: int | None = None
) -> tuple[Path, dict[str, Any]]:
    """Play a run whose process died from its beginning, and go on where its log ends.

    The log gets the bytes that it would have had; those that are there are compared. Raises an
    EmulatorError if they differ.
    """
    return _played(dead.scenario, dead.timeline, lambda: dead.folder, view, cores=cores)


def _played(
    scenario: Scenario,
    schedule: tuple[Timed, ...],
    folder: Callable[[], RunFolder],
    view: RunView,
    *,
    cores: int | None,
    replayed: Mapping[str, Any] | None = None,
) -> tuple[Path, dict[str, Any]]:
    """Play `scenario` into the folder that `folder` makes; without `replayed`, again."""
    view.take_timeline(schedule)
    if scenario.virtual.learner != "none":
        view.progress("data")
    split = preflight(scenario, "virtual").require()
    resolved = resolve(scenario, view)
    planned = plan(resolved, None if split is None else split.examples)
    parts = run_parts(resolved, planned, split, view.progress, cores)
    session = Session(resolved, schedule, folder(), "virtual")
    records = session.folder.records
    with session, records.open("wb") if replayed is not None else CheckedLog(records) as sink:
        log = RunLog(sink, view.record)
        virtual_run = _VirtualRun(session, planned, parts, log, view, replayed)
        with _uncollected():
            with session.playing(lambda: virtual_run.over):
                virtual_run.play()
            if isinstance(sink, CheckedLog) and sink.left:
                raise _unreached(sink, session)
            virtual_run.finish()
            session.conclude(read(records))
    return session.folder.path, session.summary


def _unreached(log: CheckedLog, session: Session) -> EmulatorError:
    """Return the error of a run that has not come again to the end of its `log`."""
    if session.ending is None or session.ending.reason == "failed":
        return log.mismatch()
    return EmulatorError(
        f"interrupted before the place where the run had stopped: {session.folder.path} is as "
        f"before, and `emulate resume {session.folder.run}` begins again"
    )


def resolve(scenario: Scenario, view: RunView) -> Scenario:
    """Return `scenario` with a law for all work, and the shares of layers if a schedule cuts.

    Open laws and shares come from this host's calibration.
    """
    virtual, training = scenario.virtual, scenario.training
    if not isinstance(training.model, str) and virtual.step is not None:
        # a layer table has no worker that could be started
        virtual = virtual.filled(step=virtual.step, boot=_AT_ONCE, serve=_AT_ONCE)
    resolved = with_times(scenario.model_copy(update={"virtual": virtual}), view.progress)
    return with_layers(resolved, view.progress) if needs_layers(resolved) else resolved


@contextmanager
def _uncollected() -> Iterator[None]:
    """Disable the cyclic garbage collector.

    A run makes no reference cycles, and each scan of a million devices takes seconds.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def _network(scenario: Scenario) -> dict[str, Any]:
    """Return the router of the server, and the number of devices at each router with some; nothing
    without a network."""
    if scenario.network is None:
        return {}
    counts = Counter(route.routers[0] for route in scenario.route_of.values())
    return {"network": {"server": scenario.network.server_router, "devices": dict(counts)}}


class _VirtualRun:
    """A run: server, learners, runtime, and the folder with the records."""

    def __init__(
        self,
        session: Session,
        plan: Plan,
        parts: RunParts,
        log: RunLog,
        view: RunView,
        facts: Mapping[str, Any] | None,
    ) -> None:
        """`facts` are further entries of the manifest; None: the run has one."""
        self._facts = facts
        self._session, self._plan, self._log, self._view = session, plan, log, view
        self._scenario, self._folder = session.scenario, session.folder
        self._parts, self._layout = parts, session.scenario.training.layout
        self._runtime: VirtualRuntime | None = None
        self._server: ParameterServer | None = None

    def play(self) -> None:
        """Describe the run in its folder, unless that is done, then run the events."""
        if self._facts is not None:
            self._describe(self._facts)
        server, parts = self._assembled(), self._parts
        self._server, plan = server, self._plan.worker
        workers = Workers(
            *(self._scenario, plan, parts.learning, parts.coder),
            *(self._log, self._now),
        )
        self._runtime = VirtualRuntime(
            self._scenario,
            server,
            workers,
            self._log,
            self._view,
            self._chores(server),
            parts.passes,
        )
        run(self._scenario, self._session.timeline, self._runtime)

    def _describe(self, facts: Mapping[str, Any]) -> None:
        self._session.describe(
            Host.here(),
            PACKAGES,
            shaping=SERVED,
            tcp=self._tcp(),
            encrypted=self._scenario.server.encrypt,
            **_network(self._scenario),
            **prediction_facts(self._scenario, self._view.progress, assumed=True),
            **facts,
        )

    def _now(self) -> float:
        """Return the second of the run."""
        return self._runtime.now if self._runtime else 0.0

    def _tcp(self) -> str:
        """Return the kind of links for the manifest, or the congestion control that is chosen."""
        if not self._scenario.virtual.tcp:
            return "ideal"
        return self._scenario.tcp.congestion if self._scenario.tcp else "modelled"

    def _assembled(self) -> ParameterServer:
        codec, exchange = self._parts.codec, self._parts.exchange
        whole = self._plan, self._parts.state, self._log
        return assembly.server(*whole, 0.0, codec=codec, layout=self._layout, cut=exchange)

    def _chores(self, server: ParameterServer) -> tuple[Checkpoints, ...]:
        every, model = self._plan.checkpoint, self._folder.path / "model.npz"
        return () if every is None else (Checkpoints(server, every, model, self._log),)

    @property
    def over(self) -> bool:
        """Whether the server has ended the run by itself, so that its log has a last record."""
        return self._server is not None and self._server.over

    def finish(self) -> None:
        """Write the log's last record and the model, however the run ended."""
        if ending := self._session.ending:
            now = self._now()
            self._log.write(StopRecord(now, **ending.facts()))
        self._log.flush()
        if self._log.late:
            put_in_order(self._folder.records)
        parts, folder = self._parts, self._folder.path
        if parts.learning.scores:
            save(folder / "model.npz", parts.model, self._layout)
            self._session.model = ModelOrigin("final", parts.model.version)
        if isinstance(parts.state, MeasuredState):
            parts.state.save(folder)
