"""Goes on with a run in containers after its conductor, the engine or the host has died.

The server comes back from its state in the run's folder, and all other nodes boot anew, as later
incarnations. The run's clock stands still until every node has said hello.
"""

import os
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...errors import EmulatorError
from ...learning.learners import export
from ...log.lines import line, read
from ...node.durable.log_tail import whole_lines
from ...node.durable.recovery import damage, seen_tickets
from ...node.part.server_chores import HELLOS
from ...runs.conductor import RunView, run
from ...runs.data_split import split_data
from ...runs.folder import RunFolder
from ...runs.results import (
    ORIGIN,
    durable,
    forget_results,
    gather,
    known_before,
    read_json,
    reopen,
    replacing,
    unmeasured,
    write_json,
)
from ...runs.resumption import DeadRun
from ...runs.session import Session
from ...scenario import Timed
from ...scenario.sections.server_section import NONE
from ...shaping.backend import DELAYS, Backend, Delay
from ...world import verbs
from .earlier_lives import EarlierLives, read_lives
from .engine.cleanup import clean_up_hosts
from .engine.client import connect
from .engine.owners import owned
from .images import node_image
from .late_measurement import measure_versions
from .play_containers import Engines, HostParts, conducting, get_ready

_RESUMES = "resumes"
"""File in the server's folder with the number of resumptions so far."""
DIED = "its conductor died"
"""Detail of the end of a run that could not go on, and whose versions are measured."""


def resume(
    dead: DeadRun,
    view: RunView,
    *,
    shaping: Delay | None = None,
    engines: Engines | None = None,
) -> tuple[Path, dict[str, Any]]:
    """Go on with the run `dead`, or measure the versions that it has left without a score; return
    its folder and its summary.

    `shaping` forces the means of delays; None: the run keeps its own. `engines` as of `play`.
    Raises an EmulatorError if its folder holds nothing to go on from.
    """
    os.umask(0o022)  # the containers' users must read the mounted files, whatever our umask is
    folder = dead.folder
    if unmeasured(folder):
        return _measured(dead, view, engines or Engines())
    lives = _checked(dead)
    shards = range(dead.scenario.server.shards)
    for lost in filter(None, (damage(folder.shard(number)) for number in shards)):
        view.progress(f"state{lost}: updates behind the damage are lost")
    view.take_timeline(dead.timeline)
    given = view, shaping or _shaping(folder), engines or Engines()
    ready = get_ready(dead.scenario, dead.timeline, *given)
    with ready.hosts:
        return _gone_on(dead, lives, ready, view)


def _gone_on(
    dead: DeadRun, lives: EarlierLives, ready: HostParts, view: RunView
) -> tuple[Path, dict[str, Any]]:
    folder = dead.folder
    view.progress("removing what is left of the containers")
    clean_up_hosts(ready.hosts, folder.run)
    session = Session(dead.scenario, dead.timeline, folder, dead.runtime)
    resumes = 0 if lives.over else _cleared(folder)
    with conducting(ready, session, view, was_over=lives.over) as conducted:
        if not lives.over:
            rest = rest_of(dead.timeline, lives.now, lives.held)
            _end_faults(folder, lives, dead.timeline, rest)
            prepared = ready.prepare(session, view)
            later = {node: last + 1 for node, last in lives.incarnations.items()}
            configs = replace(
                prepared.configs, resumes=resumes, resumed_at=lives.now, incarnations=later
            )
            world = replace(prepared, configs=configs, lives=lives)
            _note(folder, ready.backend, ready.hosts.devices(dead.scenario))
            run(dead.scenario, rest, conducted.runtime(world, view))
    return folder.path, session.summary


def _measured(dead: DeadRun, view: RunView, engines: Engines) -> tuple[Path, dict[str, Any]]:
    """Measure the versions of the run `dead` that wait in its folder, and write its log anew.

    They are measured on this machine; what the run has left at others of its `engines` is removed.
    """
    folder, scenario = dead.folder, dead.scenario
    client = connect()
    image = node_image.require(client).id
    view.progress("data")
    test = split_data(scenario).data.test
    view.progress("graphs")
    graph = export.ready(scenario.training.network, scenario.seed)
    stays = engines.clean_up(client, folder.run, view.progress).left
    folder.discard_work()
    session = Session(scenario, dead.timeline, folder, dead.runtime)
    with owned(folder.run), session:
        folder.work.mkdir(mode=0o700)
        died = None if reopen(folder) else {"reason": "failed", "detail": DIED}
        left = *stays, *measure_versions(client, session, image, graph, test, view)
        folder.discard_work()
        known = known_before(folder)
        origin = gather(folder, died)
        if origin.source != "none":  # the run was not gathered before
            known["model"] = origin.plain()
        hosts = read_json(folder.path / "manifest.json").get("hosts", {})
        session.conclude(read(folder.records), left=left, hosts=hosts, **known)
        (folder.path / ORIGIN).unlink(missing_ok=True)  # the summary has it now
    return folder.path, session.summary


def rest_of(
    timeline: Sequence[Timed], now: float, held: Collection[tuple[str, str]] | None = None
) -> tuple[Timed, ...]:
    """Return the actions of `timeline` that are due after `now` seconds.

    Faults that are in force then begin anew at `now`, as all nodes have booted. `held` has the
    nodes and verbs of the faults with a record of their begin; None: all have one. A fault without
    one was due between the deaths of the conductor and of the server, and keeps its time.
    """
    in_force: dict[tuple[str, str], list[Timed]] = defaultdict(list)
    for timed in timeline:
        if timed.at > now:
            break
        key = timed.action.node, verbs.row(timed.action.verb).name
        if timed.action.begins:
            in_force[key].append(timed)
        elif in_force[key]:
            in_force[key].pop()  # the first one stays: its kind and its setting hold the node
    begun = [
        Timed(now if held is None or key in held else timed.at, timed.action)
        for key, own in in_force.items()
        for timed in own
    ]
    begun.sort(key=lambda timed: timed.at)
    return (*begun, *(timed for timed in timeline if timed.at > now))


def _end_faults(
    folder: RunFolder, lives: EarlierLives, timeline: Sequence[Timed], rest: Sequence[Timed]
) -> None:
    """Append the missing ends of faults to the supervisors' reports."""
    anew = [timed for timed in rest if timed.action.begins and timed.at <= lives.now]
    with folder.reports.open("ab") as reports:
        reports.writelines(line(record) for record in lives.ended(timeline, anew))


def _checked(dead: DeadRun) -> EarlierLives:
    """Return the earlier lives of the run.

    Raises an EmulatorError, with the reason, if the run cannot go on.
    """
    folder, name = dead.folder, dead.folder.path.name
    report = f"`emulate report {folder.run}` draws what is known of this run"
    if dead.scenario.server.durability == NONE:
        raise EmulatorError(
            f"{name} ran in containers without server.durability, so its model died with the "
            "server: a scenario with `server: {durability: update}`, or {every: 30s}, can be "
            f"resumed; {report}"
        )
    log = folder.server / "run.jsonl"
    unborn = f"{name} died before it had begun: run the scenario anew"
    if not log.is_file() and not folder.records.is_file():
        folder.discard_work()  # it holds secrets, and nothing else will
        raise EmulatorError(unborn)
    if not durable(folder) or not log.is_file():
        raise EmulatorError(f"{folder.server} is gone, with the server's state: {report}")
    try:
        lives = read_lives(log, folder.reports)
        for number in range(dead.scenario.server.shards):
            lives.take_tickets(seen_tickets(folder.shard(number)))
    except ValueError as error:
        raise EmulatorError(str(error)) from error
    if not lives.begun:
        raise EmulatorError(unborn)
    return lives


def _shaping(folder: RunFolder) -> Delay | None:
    """Return the means of delays that the run began with, if its manifest names one."""
    delay = read_json(folder.path / "manifest.json").get("shaping", {}).get("delay")
    return delay if delay in DELAYS else None


def _note(folder: RunFolder, backend: Backend, hosts: Mapping[str, Sequence[str]]) -> None:
    """Write to the manifest how links are shaped, and which devices the `hosts` have, from here
    on."""
    path = folder.path / "manifest.json"
    placed = {"hosts": hosts} if hosts else {}
    write_json(path, {**read_json(path), "shaping": backend.plain(), **placed})


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
        return int(count.read_text(encoding="utf-8")) if count.is_file() else 0
    except ValueError as error:
        raise EmulatorError(
            f"{count}: {error}: write the number of times that the run was resumed, or more"
        ) from error
