"""Versions that are kept for a measurement after the run: files, records, and runs of both ways."""

import json
import resource
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from emulator.core import assembly
from emulator.core.plan import Durability, Plan
from emulator.core.server.parameter_server import Driver
from emulator.errors import ScenarioError
from emulator.learning.learners.numpy import NumpyEvaluator
from emulator.log.lines import line
from emulator.log.records import EvaluationRecord, StopRecord
from emulator.node.part.kept_versions import (
    FOLDER,
    KeptVersions,
    kept_versions,
    read_version,
    version_of,
)
from emulator.runs.data_split import split_data
from emulator.runs.folder import create
from emulator.runs.planning import plan
from emulator.runs.results import gather
from emulator.runtimes.docker.configs.compose_file import lay_down
from emulator.runtimes.virtual import play_virtual
from emulator.runtimes.virtual.fleet import Fleet
from emulator.runtimes.virtual.play_virtual import play
from tests.fakes.core.made_server import planned_server
from tests.fakes.core.server_world import World
from tests.fakes.node.durable_fleet import WORKERS, DurableFleet, plan_of
from tests.fakes.plain_records import read
from tests.fakes.small_scenario import mistakes, small
from tests.fakes.virtual_world import Onlooker

STEPS = ("virtual.step=10ms", "virtual.boot=50ms")


TRAINING = {
    "asynchronous": "algorithm: asgd",
    "softsync": "codec: dense, synchronization: {kind: softsync, splits: 2}",
    "barrier": "codec: dense, synchronization: {kind: barrier, quorum: 60%}",
    "bounded": "codec: dense, synchronization: {kind: bounded, bound: 1}",
    "groups": "codec: dense, synchronization: {kind: groups, groups: 2}",
    "fedavg": "codec: dense, synchronization: {kind: fedavg, clients: 100%}",
    "local-sgd": "codec: dense, synchronization: {kind: local-sgd, steps: 2}",
    "cut": "algorithm: asgd, fully_connected: {place: {after: 1}}",
    "layer-wise": "algorithm: asgd, schedule: {kind: layer-by-layer}",
    "adam": "algorithm: asgd, optimizer: {kind: adam}, learning_rate: 0.01",
}


def _keeping(*given: Any) -> Plan:
    """Return the plan of a run in containers, which nobody has to let begin."""
    return plan(*given, contained=True).by_hand()


@pytest.mark.parametrize("kind", TRAINING)
def test_the_versions_are_kept_that_are_measured_during_a_run(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run in virtual time with an evaluator, and one with a server that keeps its versions."""
    changed = "training:\n  dataset: digits\n  model: digits-mlp\n  algorithm: asgd\n"
    training = f"training: {{dataset: digits, model: digits-mlp, {TRAINING[kind]}}}\n"
    own = ("evaluate={every: 4}", "stop={updates: 22}", "virtual={learner: numpy}")
    scenario = small((changed, training), overrides=(*own, *STEPS))
    folder, summary = play(scenario, tmp_path, Onlooker())
    during = [record for record in read(folder / "run.jsonl") if record["what"] == "evaluation"]

    keep = KeptVersions(tmp_path).keep
    monkeypatch.setattr(play_virtual, "plan", _keeping)
    monkeypatch.setattr(Fleet, "_start_evaluator", lambda *of: None)
    monkeypatch.setattr(assembly, "server", partial(assembly.server, driver=Driver(keep=keep)))
    later = ("evaluate={every: 4, when: after}", *own[1:])
    play(small((changed, training), overrides=(*later, *STEPS)), tmp_path, Onlooker())
    size = scenario.training.layout.size
    kept = [read_version(path, size) for path in kept_versions(tmp_path / FOLDER)]
    facts = ("at", "version", "updates", "push_bytes")
    found = [[getattr(record, key) for key in facts] for record, _ in kept]
    assert found == [[record[key] for key in facts] for record in during]
    assert found[-1][1] == summary["updates"] >= 22 and len(found) > 3
    evaluator = NumpyEvaluator(scenario.training.layout)
    test = split_data(scenario).data.test
    x, y = test.batch(slice(None))
    scores = [evaluator.evaluate(theta, x, y)[0] / len(test) for _, theta in kept]
    assert scores == pytest.approx([record["accuracy"] for record in during], abs=1e-6)


@pytest.mark.parametrize("reason", ["stopped", "canceled", "failed"])
def test_the_last_model_is_kept_however_a_run_ends(tmp_path: Path, reason: str) -> None:
    world = World(every=100, evaluator=None, keep=KeptVersions(tmp_path).keep)
    world.server.end(reason, 104.0)
    assert not kept_versions(tmp_path / FOLDER)  # the run had not begun
    world = World(every=100, evaluator=None, keep=KeptVersions(tmp_path).keep)
    world.begin(now=105.0)
    for number in range(5):
        world.round("a", 110.0 + number)
    for _ in range(2):
        world.server.end(reason, 120.0)
    assert list(map(version_of, kept_versions(tmp_path / FOLDER))) == [0, 5]


def kept_file(folder: Path) -> Path:
    record = EvaluationRecord(1.5, version=4, updates=4, accuracy=None, loss=None, push_bytes=9)
    KeptVersions(folder).keep(record, np.arange(1000, dtype=np.float32))
    (path,) = kept_versions(folder / FOLDER)
    return path


def test_a_version_takes_four_bytes_a_parameter_and_a_line(tmp_path: Path) -> None:
    assert 4000 < kept_file(tmp_path).stat().st_size < 4200


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: b"",
        lambda content: content[:50],
        lambda content: content[:-1],
        lambda content: content + b"\0",
        lambda content: b"not a version\n" + content,
        lambda content: bytes(len(content)),
        lambda content: content.replace(b'"version":4', b'"version":5'),
    ],
)
def test_a_damaged_file_holds_no_version(tmp_path: Path, spoil) -> None:
    path = kept_file(tmp_path)
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(ValueError):
        read_version(path, 1000)


def test_a_full_disk_leaves_no_half_file(tmp_path: Path) -> None:
    """A limit on the size of files stands for a disk."""
    before = kept_file(tmp_path).read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            kept_file(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    (path,) = (tmp_path / FOLDER).iterdir()
    assert path.read_bytes() == before


class KeepingFleet(DurableFleet):
    """A fleet without an evaluator, with a server that keeps its versions in files."""

    def __init__(self, planned, output: Path) -> None:
        super().__init__(msgspec.structs.replace(planned, evaluator=None, kept=True), output)
        del self.tickets["evaluator"]

    def _build(self, log):
        return planned_server(self.plan, log, self.now, keep=KeptVersions(self.output).keep)

    def play(self, steps: int) -> None:
        for _ in range(steps):
            node = self.dice.choice(WORKERS)
            (self.push if node in self.models else self.pull)(node)
            self.take(self.server.tick(self.now))


@pytest.mark.parametrize("every", [None, 1e-3])
def test_a_server_that_comes_back_keeps_the_same_versions(tmp_path: Path, every) -> None:
    fleet = KeepingFleet(plan_of(durability=Durability(every)), tmp_path)
    fleet.begin()
    fleet.play(100)
    before = {path.name: path.read_bytes() for path in kept_versions(tmp_path / FOLDER)}
    fleet.server.close()
    fleet.boot()
    reached = fleet.server.version
    after = {path.name: path.read_bytes() for path in kept_versions(tmp_path / FOLDER)}
    assert after == before and len(before) > 4
    fleet.models.clear()
    fleet.play(100)
    versions = list(map(version_of, kept_versions(tmp_path / FOLDER)))
    assert versions == list(range(0, fleet.server.version + 1, 7)) and max(versions) > reached
    fleet.server.close()


def test_versions_without_a_score_are_named_in_the_log(tmp_path: Path) -> None:
    folder = create("kept", tmp_path)
    folder.server.mkdir()
    (folder.server / "run.jsonl").write_bytes(line(StopRecord(9.0, "canceled", "")))
    for version in (0, 4):
        record = EvaluationRecord(
            version / 2, version=version, updates=version, accuracy=None, loss=None, push_bytes=0
        )
        KeptVersions(folder.server).keep(record, np.zeros(3, np.float32))
    gather(folder)
    named, stop = [json.loads(each) for each in folder.records.read_bytes().splitlines()]
    assert named == {"at": 2.0, "what": "unmeasured", "versions": [0, 4]}
    assert stop["what"] == "stop"
    assert {path.name for path in folder.server.iterdir()} == {FOLDER}  # for `emulate resume`


def test_virtual_time_measures_the_same_either_way(tmp_path: Path) -> None:
    runs = {}
    for when in ("during", "after"):
        scenario = small(overrides=(f"evaluate={{every: 5, when: {when}}}", "stop={updates: 23}"))
        folder, _ = play(scenario, tmp_path / when, Onlooker())
        runs[when] = (folder / "run.jsonl").read_bytes()
    assert runs["during"] == runs["after"] and runs["after"].count(b'"evaluation"') == 6


def test_a_stop_that_needs_a_measurement_is_refused() -> None:
    said = mistakes(overrides=("evaluate.when=after", "stop.accuracy=97%"))
    assert "stop.accuracy: with evaluate.when after no accuracy is known before the run" in said[0]
    assert "stop by updates or time, or write evaluate.when during" in said[0] and len(said) == 1
    small(overrides=("evaluate.when=after", "stop={updates: 5, time: 10s}"))
    small(overrides=("evaluate.when=during", "stop.accuracy=97%"))


def test_compose_refuses_it(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"evaluate\.when: nothing measures"):
        lay_down(small(overrides=("evaluate.when=after",)), tmp_path)
