"""A whole run on Docker: checks first, then the world, then the folder that remains."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker import DockerClient

from ... import models
from ...cancel import Canceled, canceling
from ...core import wire
from ...errors import HostError
from ...folder import RunFolder, create
from ...host import Host, Load
from ...learners.export import exported
from ...results import gather, write_json, write_log
from ...run import View, run
from ...runlog import Record
from ...scenario import Scenario, Timed, demand, dump, shortfalls, timeline
from ...scenario.demand import Host as Capacity
from ...scenario.timeline import lines
from ...shaping.backend import Backend
from ...summary import summarise
from . import image
from .border import connect
from .manifest import manifest
from .orders import EVALUATOR
from .prepare import Hands, deal, prepare
from .probing import backend_for, described
from .runtime import DockerRuntime
from .sweep import sweep


def play(scenario: Scenario, runs: Path, view: View) -> tuple[Path, dict[str, Any]]:
    """Play the scenario; the run's folder and its summary.

    What is missing is found before anything is made, the cheap things first. After that,
    whatever goes wrong is raised with the folder holding all that is known; if someone ends
    the run, that is no error.
    """
    os.umask(0o022)  # the containers' users must read what is mounted, whatever ours keeps private
    view.progress("data")
    hands, host = deal(scenario), Host.here()
    _carried_by(host, scenario)
    client = connect()
    found = image.require(client)
    backend = backend_for(client, found.id, scenario)
    view.progress(f"shaping: {described(backend.plain())}")
    view.progress("graphs")
    graph = exported(scenario.training.model)
    planned = tuple(timeline(scenario))
    folder = create(scenario.name, runs)
    return _Session(
        client, scenario, planned, hands, graph, folder, backend, found, host, view
    ).play()


def _carried_by(host: Host, scenario: Scenario) -> None:
    short = shortfalls(demand(scenario), Capacity(host.cores, host.available))
    if too_much := [str(one) for one in short if one.fatal]:
        raise HostError("this host cannot carry the scenario:\n" + "\n".join(too_much))


@dataclass(frozen=True)
class _Session:
    _client: DockerClient
    _scenario: Scenario
    _timeline: tuple[Timed, ...]
    _hands: Hands
    _graph: Path
    _folder: RunFolder
    _backend: Backend
    _image: image.NodeImage
    _host: Host
    _view: View

    def play(self) -> tuple[Path, dict[str, Any]]:
        folder = self._folder
        try:
            with canceling() as reason:
                folder.take()  # whoever signals us from now on is understood
                return folder.path, self._play(reason)
        finally:
            folder.discard_work()
            folder.leave()

    def _describe(self) -> None:
        """What is known before anything happens."""
        folder = self._folder
        (folder.path / "scenario.yaml").write_text(dump(self._scenario))
        folder.timeline.write_text(lines(self._timeline))
        made_with = manifest(
            self._client, self._scenario, folder, self._host, self._backend, self._image
        )
        write_json(folder.path / "manifest.json", made_with)

    def _play(self, reason: list[str]) -> dict[str, Any]:
        runtime: DockerRuntime | None = None
        load, ending = Load(), None
        output = self._folder.server
        try:
            self._describe()
            world = prepare(
                self._scenario,
                self._folder,
                hands=self._hands,
                graph=self._graph,
                backend=self._backend,
                image=self._image.id,
                tell=self._view.progress,
            )
            runtime = DockerRuntime(self._client, self._folder, world, self._view)
            with load:
                run(self._scenario, self._timeline, runtime)
        except Canceled:
            ending = reason[0]
        except Exception as error:
            self._finish(output, runtime, load.busy, "failed", str(error))
            error.add_note(f"what is known of the run is in {self._folder.path}")
            raise
        finally:
            sweep(self._client, self._folder.run)  # a signal may have come amid the teardown
        return self._finish(output, runtime, load.busy, ending)

    def _finish(
        self,
        output: Path,
        runtime: DockerRuntime | None,
        busy: list[float],
        ending: str | None,
        detail: str = "",
    ) -> dict[str, Any]:
        """Whatever happened, the folder is complete, and says how it ended."""
        devices = runtime.records if runtime else []
        records = gather(self._folder, output, devices)
        if ending:
            records = _ended(records, ending, detail)
            write_log(self._folder.records, records)
        summary = self._summary(records, busy)
        write_json(self._folder.path / "summary.json", summary)
        shutil.rmtree(output, ignore_errors=True)
        return summary

    def _summary(self, records: list[Record], busy: list[float]) -> dict[str, Any]:
        scenario = self._scenario
        parameters = models.find(scenario.training.model).layout.size
        return summarise(
            records,
            scenario=scenario.name,
            algorithm=scenario.training.described,
            seed=scenario.seed,
            runtime="docker",
            devices=len(scenario.nodes),
            dense_push=wire.dense_push(parameters, encrypted=scenario.server.encrypt),
            evaluator=EVALUATOR,
            planned=[{"at": t.at, "verb": t.action.verb} for t in self._timeline],
            busy=busy,
            quotas=any(device.cpu is not None for device in scenario.nodes),
        )


def _ended(records: list[Record], ending: str, detail: str) -> list[Record]:
    """The log with its last word as the conductor has it: it knows why the server was told to."""
    stops = [record for record in records if record["what"] == "stop"]
    at = stops[-1]["at"] if stops else max((r["at"] for r in records), default=0.0)
    last: Record = {"at": at, "what": "stop", "reason": ending}
    if detail:
        last["detail"] = detail
    return [*(record for record in records if record["what"] != "stop"), last]
