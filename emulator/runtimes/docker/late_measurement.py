"""Measures the kept versions of the model once the containers of the run have gone."""

import os
from pathlib import Path
from typing import Any

from docker import DockerClient

from ...errors import DeploymentError, EmulatorError
from ...learning.datasets import shard
from ...learning.datasets.examples import Examples
from ...log.lines import parse
from ...log.records import EvaluationRecord
from ...node import config
from ...node.durable.log_tail import whole_lines
from ...node.part.kept_versions import FOLDER, kept_versions, version_file
from ...runs.conductor import RunView
from ...runs.results import forget_measured, to_measure
from ...runs.session import Session
from ...scenario import demand
from ...world.roles import EVALUATOR
from .configs import spec
from .configs.container_settings import NOBODY
from .engine import owners
from .engine.cleanup import clean_up, labels
from .engine.client import finished, refusals
from .engine.exits import Exits
from .engine.hosts import Hosts
from .engine.stdio import OutputEnded, Said, Stdio
from .run_logs import NodeLogs

OUTPUT_LOOK = 1.0
"""Real seconds to wait for the next output of the container at a time."""


def measure_versions(
    client: DockerClient,
    session: Session,
    image: str,
    graph: Path,
    test: Examples,
    view: RunView,
) -> tuple[str, ...]:
    """Measure the versions of the model that the server has kept on the `test` set, the oldest
    version first; return a line for each thing that could not be removed from the engine.

    Each score is appended to the reports of the run, and the version's file is removed. A signal
    ends the measurements, as an error does, which is raised at the end of the `session`: the rest
    of the versions then waits for `emulate resume`.
    """
    folder = session.folder
    versions = folder.server / FOLDER
    with session.adding():
        if folder.reports.is_file():  # a process that was killed may have left half a line
            os.truncate(folder.reports, whole_lines(folder.reports))
        forget_measured(folder)
        container = _container(session, image, graph, test, versions)
        count = len(kept_versions(versions))
        while left := kept_versions(versions):
            measuring = _Measuring(client, session, view, count)
            try:
                measuring.start(spec.measurement(container, os.getuid() or NOBODY), container)
                why = measuring.listen(versions)
            finally:
                measuring.close()
            if not why:
                break
            # as the server is started again, but not for ever
            if len(kept_versions(versions)) == len(left):
                raise DeploymentError(why)
            view.progress("measuring: the evaluator died, and is started again")
            clean_up(client, folder.run)
        if left := kept_versions(versions):
            names = ", ".join(path.name for path in left)
            raise EmulatorError(f"{versions}: damaged, so these versions have no score: {names}")
    if waits := to_measure(folder):
        session.notes.append(waits)
    return clean_up(client, folder.run).left


def _container(
    session: Session, image: str, graph: Path, test: Examples, versions: Path
) -> spec.Container:
    """Return the specification of the container, and write the `test` set for it."""
    folder, scenario = session.folder, session.scenario
    examples = folder.work / "shards" / EVALUATOR
    if not examples.is_dir():  # the run was over before this process began to conduct it
        shard.write(examples, test)
    place = str(owners.place(folder.run))
    marks = labels(folder.run, scenario.name, str(folder.path), place, EVALUATOR)
    mounts = {
        str(config.VERSIONS): versions,
        str(config.GRAPH): graph,
        str(config.SHARD): examples,
    }
    memory = demand(scenario).evaluator_limit
    return spec.Container(EVALUATOR, image, "", marks, mounts, memory=memory)


class _Measuring:
    """The evaluator's container after a run, with its output and the scores that it records."""

    def __init__(self, client: DockerClient, session: Session, view: RunView, count: int) -> None:
        """`count`: number of versions to measure, those with a score included."""
        self._client, self._view, self._count = client, view, count
        self._hosts = Hosts.here(client)
        self._stdio, self._exits = Stdio(), Exits(self._hosts)
        self._logs = NodeLogs(session.folder, [EVALUATOR])

    def start(self, options: dict[str, Any], wanted: spec.Container) -> None:
        """Create and start the container `wanted` with the engine's `options`."""
        with refusals("starting the evaluator"):
            container = finished(self._client.containers.create, **options)
            self._stdio.open(self._hosts.home, EVALUATOR, str(container.id))
            self._exits.created(EVALUATOR, str(container.id), wanted.memory)
            container.start()
        self._stdio.listen(EVALUATOR)

    def listen(self, versions: Path) -> str:
        """Take the scores of `versions` until the container ends or all have a score.

        Returns why the container ended early; empty if it did not.
        """
        while left := len(kept_versions(versions)):
            self._view.progress(f"measuring {self._count - left} of {self._count} versions")
            for news in self._stdio.read(OUTPUT_LOOK):
                if isinstance(news, OutputEnded):
                    return self._ended()
                self._hear(news, versions)
        return ""

    def _hear(self, said: Said, versions: Path) -> None:
        """Take a line of output: a record with a score, or text for the node's log."""
        try:
            record = None if said.error else parse(said.text.encode())
        except ValueError:
            record = None
        if isinstance(record, EvaluationRecord):
            self._logs.report(record)
            self._view.record(record)
            version_file(versions, record.version).unlink(missing_ok=True)
        else:
            self._exits.said(EVALUATOR, said.text)
            self._logs.write(EVALUATOR, said.text)

    def _ended(self) -> str:
        """Return why the container ended; empty if it has passed over damaged files only."""
        how = self._exits.container(EVALUATOR)
        if how.code == 0:
            return ""
        return f"{EVALUATOR} ended unasked: {how.reason}; {self._logs.ending(EVALUATOR)}"

    def close(self) -> None:
        self._stdio.close()
        self._logs.close()
