"""Goes on with a run in containers after its conductor, the engine or the host has died.

The server comes back from its state in the run's folder, and all other nodes boot anew, as later
incarnations. The run's clock stands still until every node has said hello.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...errors import EmulatorError
from ...log.lines import read
from ...log.records import HelloRecord, StartRecord, StopRecord
from ...node.durable.log_tail import whole_lines
from ...node.roll import FILE as HELLOS
from ...runs.conductor import RunView, run
from ...runs.dead_run import DeadRun
from ...runs.folder import RunFolder
from ...runs.results import durable, forget_results, replacing
from ...runs.session import Session
from ...scenario import Timed
from ...scenario.durability import NONE
from ...world.fault_counts import FaultCounts
from .cleanup import clean_up
from .play_containers import conducting, get_ready

_RESUMES = "resumes"
"""File in the server's folder with the number of resumptions so far."""


@dataclass
class _Past:
    """The log of a dead run's server, as far as a resumption needs it."""

    now: float = 0.0
    """Emulated seconds at the last record."""
    begun: bool = False
    over: bool = False
    incarnations: dict[str, int] = field(default_factory=dict)
    """The last incarnation of each node."""

    def take(self, records: Iterable[Any]) -> "_Past":
        for record in records:
            self.now = max(self.now, record.at)
            match record:
                case StartRecord():
                    self.begun = True
                case StopRecord():
                    self.over = True
                case HelloRecord(node=node, incarnation=incarnation):
                    last = self.incarnations.get(node, 0)
                    self.incarnations[node] = max(last, incarnation)
        return self


def resume(dead: DeadRun, view: RunView) -> tuple[Path, dict[str, Any]]:
    """Go on with the run `dead`; return its folder and its summary.

    Raises an EmulatorError if its folder holds nothing to go on from.
    """
    os.umask(0o022)  # the containers' users must read the mounted files, whatever our umask is
    folder = dead.folder
    past = _checked(dead)
    view.take_timeline(dead.timeline)
    ready = get_ready(dead.scenario, dead.timeline, view)
    view.progress("removing what is left of the containers")
    clean_up(ready.client, folder.run)
    session = Session(dead.scenario, dead.timeline, folder, "docker")
    resumes = 0 if past.over else _cleared(folder)
    with conducting(ready, session) as conducted:
        if not past.over:
            prepared = ready.prepare(session, view)
            later = {node: last + 1 for node, last in past.incarnations.items()}
            configs = replace(prepared.configs, resumes=resumes, incarnations=later)
            runtime = conducted.runtime(replace(prepared, configs=configs), view)
            run(dead.scenario, rest_of(dead.timeline, past.now), runtime)
    return folder.path, session.summary


def rest_of(timeline: Sequence[Timed], now: float) -> tuple[Timed, ...]:
    """Return the actions of `timeline` that are due after `now` seconds.

    Faults that are in force then begin anew at `now`, as all nodes have booted.
    """
    counts: dict[str, FaultCounts] = defaultdict(FaultCounts)
    in_force: dict[tuple[str, str], Timed] = {}
    for timed in timeline:
        action = timed.action
        if timed.at > now:
            break
        counts[action.node].changes(action.verb, action.fault)
        if action.begins:
            in_force[action.node, action.verb] = timed
    begun = [
        Timed(now, timed.action)
        for (node, verb), timed in in_force.items()
        if counts[node].holds(verb)
    ]
    return (*begun, *(timed for timed in timeline if timed.at > now))


def _checked(dead: DeadRun) -> _Past:
    """Return the past of the run. Raises an EmulatorError, with the reason, if it cannot go on."""
    folder, name = dead.folder, dead.folder.path.name
    report = f"`emulate report {folder.run}` draws what is known of this run"
    if dead.scenario.server.durability == NONE:
        raise EmulatorError(
            f"{name} ran in containers without server.durability, so its model died with the "
            "server: a scenario with `server: {durability: update}`, or {every: 30s}, can be "
            f"resumed; {report}"
        )
    log = folder.server / "run.jsonl"
    if not durable(folder) or not log.is_file():
        raise EmulatorError(f"{folder.server} is gone, with the server's state: {report}")
    try:
        past = _Past().take(read(log))
    except ValueError as error:
        raise EmulatorError(str(error)) from error
    if not past.begun:
        raise EmulatorError(f"{name} died before it had begun: run the scenario anew")
    return past


def _cleared(folder: RunFolder) -> int:
    """Make the folder ready for new nodes; return the number of this resumption, from 1."""
    resumes = _resumes(folder) + 1
    with replacing(folder.server / _RESUMES) as sink:
        sink.write(str(resumes).encode())
    (folder.server / HELLOS).unlink(missing_ok=True)
    if folder.reports.is_file():
        os.truncate(folder.reports, whole_lines(folder.reports))
    forget_results(folder)  # of a report that was drawn meanwhile
    folder.discard_work()
    folder.work.mkdir(mode=0o700)
    return resumes


def _resumes(folder: RunFolder) -> int:
    """Return the number of resumptions so far. Raises an EmulatorError if the file has none."""
    count = folder.server / _RESUMES
    try:
        return int(count.read_text()) if count.is_file() else 0
    except ValueError as error:
        raise EmulatorError(
            f"{count}: {error}: write the number of times that the run was resumed, or more"
        ) from error
