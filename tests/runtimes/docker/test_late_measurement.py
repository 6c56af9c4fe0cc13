"""Versions that are measured after a run: deaths, signals and full disks in the middle."""

import errno
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from emulator.cli.play.run import tell
from emulator.errors import DeploymentError, EmulatorError, HostError
from emulator.learning.models import saved_model
from emulator.learning.models.saved_model import SavedModel
from emulator.log.lines import line
from emulator.log.records import (
    EvaluationRecord,
    Record,
    StopRecord,
)
from emulator.node.part.kept_versions import KeptVersions, kept_versions, read_version, version_of
from emulator.runs import results
from emulator.runs.cancel import Canceled
from emulator.runs.conductor import ProgressView
from emulator.runs.data_split import split_data
from emulator.runs.folder import RunFolder, create
from emulator.runs.resumption import dead_run
from emulator.runs.session import Session
from emulator.runtimes.docker import late_measurement, play_containers, resume_containers
from emulator.runtimes.docker.engine.cleanup import Removed
from emulator.runtimes.docker.engine.exits import Exit, Exits
from emulator.runtimes.docker.engine.hosts import Hosts
from emulator.runtimes.docker.engine.stdio import OutputEnded, Said
from emulator.runtimes.docker.play_containers import Engines
from emulator.runtimes.docker.run_logs import NodeLogs
from emulator.scenario import dump, loads
from emulator.scenario.timeline.compiled import timeline, to_jsonl
from emulator.shaping.backend import Backend
from tests.fakes.plain_records import full, read

TEXT = """
name: pair
training: {dataset: digits, model: digits-mlp, algorithm: adacomp}
evaluate: {every: 2, when: after}
stop: {updates: 8}
devices: [{name: near}, {name: far}]
"""
SCENARIO = loads(TEXT)
DURABLE = loads(f"{TEXT}server: {{durability: update}}\n")
VERSIONS = [0, 2, 4, 6, 8]
SIZE = SCENARIO.training.layout.size


class Measurer:
    """Stands for the container that measures, behind its standard output.

    `before` is called with each version; it may raise, or return False, and the container dies.
    """

    def __init__(self, versions: Callable[[], Path]) -> None:
        self.versions, self.lives = versions, 0
        self.before: Callable[[int], bool | None] = lambda version: None

    def stdio(self) -> Any:
        """Return what stands for the connection to the next container."""
        self.lives += 1
        output = self._output()
        nothing = lambda *of: None  # noqa: E731
        return SimpleNamespace(
            open=nothing, listen=nothing, close=nothing, read=lambda timeout: [next(output)]
        )

    def _output(self) -> Iterator[Said | OutputEnded]:
        for path in kept_versions(self.versions()):
            if self.before(version_of(path)) is False:
                self.code = 1
                yield OutputEnded("evaluator")
            try:
                record, theta = read_version(path, SIZE)
            except ValueError as error:
                yield Said("evaluator", f"{path.name} is damaged: {error}")
                continue
            scored = replace(record, accuracy=float(theta[0]), loss=1.0)
            yield Said("evaluator", line(scored).decode())
        self.code = 0
        yield OutputEnded("evaluator")


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """The folder of a run whose server has ended it, and has kept five versions."""
    return ended(tmp_path)


def ended(tmp_path: Path, *, durable: bool = False, reason: str = "updates") -> RunFolder:
    made, scenario = create("pair", tmp_path), DURABLE if durable else SCENARIO
    made.server.mkdir()
    (made.path / "scenario.yaml").write_text(dump(scenario))
    made.timeline.write_text(to_jsonl(timeline(scenario)))
    results.write_json(made.path / "manifest.json", {"runtime": "docker"})
    made.reports.touch()
    with (made.server / "run.jsonl").open("wb") as log:
        log.writelines(map(line, records(reason)))
    if durable:
        (made.server / "durable").mkdir()
    model = SavedModel(np.zeros(SIZE, np.float32), 8, SCENARIO.training.layout)
    saved_model.write(made.server / "model.npz", model)
    keep = KeptVersions(made.server).keep
    for version in VERSIONS:
        theta = np.full(SIZE, version / 10, np.float32)
        record = EvaluationRecord(
            float(version), version=version, updates=version, accuracy=None, loss=None, push_bytes=9
        )
        keep(record, theta)
    return made


def records(reason: str) -> Iterator[Record]:
    yield full({"at": 0.0, "what": "start", "devices": 2})
    for version in range(1, 9):
        facts = {"node": "near", "version": version}
        yield full({"at": float(version), "what": "update", **facts})
    if reason:
        yield StopRecord(8.0, reason, "")


@pytest.fixture
def measurer(tmp_path: Path, data: None, monkeypatch: pytest.MonkeyPatch) -> Measurer:
    made = Measurer(lambda: next(tmp_path.glob("pair/2*/server/versions")))
    monkeypatch.setattr(late_measurement, "Stdio", made.stdio)
    nothing = Removed()
    for module in (late_measurement, play_containers):
        monkeypatch.setattr(module, "clean_up", lambda *of: nothing)
    monkeypatch.setattr(play_containers, "clean_up_late", lambda *of: ())
    monkeypatch.setattr(resume_containers, "connect", lambda: ENGINE)
    image = SimpleNamespace(require=lambda client: SimpleNamespace(id="image"))
    monkeypatch.setattr(resume_containers, "node_image", image)
    monkeypatch.setattr(resume_containers.export, "ready", lambda *of: tmp_path)
    how = "its container ended, exit code"

    def container(self: Exits, node: str) -> Exit:
        assert self._ids == {node: ID}  # an evaluator before this one had the same name
        return Exit(made.code, "", f"{how} {made.code}")

    monkeypatch.setattr(Exits, "container", container)
    return made


ID = "1"
ENGINE: Any = SimpleNamespace(
    containers=SimpleNamespace(create=lambda **options: SimpleNamespace(id=ID, start=lambda: None))
)


def conduct(
    folder: RunFolder, scenario: Any = SCENARIO, ending: BaseException | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Come to the end of the run in `folder`; return its summary and the steps that were shown."""
    shown = list[str]()
    split: Any = split_data(scenario)
    ready: Any = SimpleNamespace(
        hosts=Hosts.here(ENGINE),
        backend=Backend(),
        image=SimpleNamespace(id="image"),
        graph=folder.path,
        split=split,
    )
    session, view = Session(scenario, (), folder, "docker"), ProgressView(shown.append)
    with play_containers.conducting(ready, session, view, was_over=ending is None):
        if ending is not None:
            raise ending
    return session.summary, shown


def resume(folder: RunFolder, engines: Engines | None = None) -> dict[str, Any]:
    dead = dead_run(folder.path)
    _, summary = resume_containers.resume(dead, ProgressView(), engines=engines)
    return summary


def scored(folder: RunFolder) -> list[int]:
    return [each["version"] for each in read(folder.records) if each["what"] == "evaluation"]


def assert_all_measured(folder: RunFolder, summary: dict[str, Any], outcome: str = "success"):
    measured = [each for each in read(folder.records) if each["what"] == "evaluation"]
    assert [each["version"] for each in measured] == VERSIONS
    assert [each["at"] for each in measured] == VERSIONS
    assert [each["accuracy"] for each in measured] == pytest.approx([n / 10 for n in VERSIONS])
    assert not any("scored" in each for each in measured)
    assert summary["unmeasured"] == {"count": 0, "versions": []}
    assert (summary["outcome"], summary["updates"]) == (outcome, 8)
    assert summary["final_accuracy"] == pytest.approx(0.8)
    assert summary == results.read_json(folder.path / "summary.json")
    assert summary["model"] == {"source": "final", "version": 8}
    assert (folder.path / "model.npz").is_file()
    for rest in (folder.server, folder.reports, folder.work, folder.path / results.ORIGIN):
        assert not rest.exists()
    kinds = [each["what"] for each in read(folder.records)]
    assert kinds.count("stop") == 1 and "unmeasured" not in kinds
    with pytest.raises(EmulatorError, match=rf"is over \({outcome}\)"):
        dead_run(folder.path)


def assert_resumes(folder: RunFolder, left: list[int], outcome: str = "success") -> None:
    """Assert that the versions `left` wait, and that `resume` measures them."""
    summary = results.read_json(folder.path / "summary.json")
    assert summary["unmeasured"] == {"count": len(left), "versions": left}
    assert summary["outcome"] == outcome
    assert scored(folder) == [version for version in VERSIONS if version not in left]
    assert_all_measured(folder, resume(folder), outcome)


def test_all_versions_are_measured_and_counted(folder: RunFolder, measurer: Measurer) -> None:
    summary, shown = conduct(folder)
    assert_all_measured(folder, summary)
    assert shown == [f"measuring {count} of 5 versions" for count in range(5)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
@pytest.mark.parametrize("durable", [False, True])
def test_a_signal_ends_the_measurements_and_loses_nothing(
    tmp_path: Path, measurer: Measurer, number: int, durable: bool, capsys: Any
) -> None:
    folder = ended(tmp_path, durable=durable)
    measurer.before = lambda version: os.kill(os.getpid(), number) if version == 4 else None
    summary, _ = conduct(folder, DURABLE if durable else SCENARIO)
    tell(folder.path, summary)
    waits = f"3 versions of the model wait for a measurement: `emulate resume {folder.run}`"
    assert waits in capsys.readouterr().out
    measurer.before = lambda version: None
    assert_resumes(folder, [4, 6, 8])


class TwoHosts(Engines):
    """Engines of which the other one is down."""

    def clean_up(self, client: Any, run: str, tell: Any) -> Removed:
        return super().clean_up(client, run, tell) + Removed(left=("host other is down",))


def test_a_measurement_after_a_run_on_several_hosts_knows_them(
    folder: RunFolder, measurer: Measurer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By them the summary judges links; and what stays at a host that is down is named."""
    hosts = {"home": ["d-0"], "other": ["d-1"]}
    manifest = folder.path / "manifest.json"
    manifest.write_text(json.dumps(results.read_json(manifest) | {"hosts": hosts}))
    known, conclude = list[Any](), Session.conclude

    def concluded(self: Session, *given: Any, **facts: Any) -> None:
        known.append(facts["hosts"])
        conclude(self, *given, **facts)

    monkeypatch.setattr(Session, "conclude", concluded)
    summary = resume(folder, TwoHosts())
    assert known == [hosts] and summary["left"] == ["host other is down"]


def test_a_second_signal_ends_what_the_first_has_asked_for(
    tmp_path: Path, measurer: Measurer
) -> None:
    """`emulate stop` has the versions measured; the next one ends that."""
    folder = ended(tmp_path, reason="stopped")
    measurer.before = lambda version: os.kill(os.getpid(), signal.SIGUSR1) if version else None
    conduct(folder, ending=Canceled("stopped"))
    measurer.before = lambda version: None
    assert_resumes(folder, [2, 4, 6, 8], "stopped")


@pytest.mark.parametrize("reason", ["canceled", ""])
def test_a_canceled_run_waits_for_its_measurements(
    tmp_path: Path, measurer: Measurer, reason: str
) -> None:
    """Its server wrote the record of the end, or had no time to."""
    folder = ended(tmp_path, reason=reason)
    conduct(folder, ending=Canceled("canceled"))
    assert measurer.lives == 0
    assert_resumes(folder, VERSIONS, "canceled")


def test_an_evaluator_that_died_is_started_again(folder: RunFolder, measurer: Measurer) -> None:
    died = {2, 6}

    def die_once(version: int) -> bool:
        if version not in died:
            return True
        died.remove(version)
        return False

    measurer.before = die_once
    summary, shown = conduct(folder)
    assert_all_measured(folder, summary)
    assert measurer.lives == 3
    assert shown.count("measuring: the evaluator died, and is started again") == 2


@pytest.mark.parametrize("last", [0, 4])
def test_an_evaluator_that_cannot_live_leaves_the_rest_to_a_resume(
    folder: RunFolder, measurer: Measurer, last: int
) -> None:
    measurer.before = lambda version: version < last
    with pytest.raises(DeploymentError, match="evaluator ended unasked: its container") as raised:
        conduct(folder)
    left = [version for version in VERSIONS if version >= last]
    *_, waits = raised.value.__notes__
    assert waits == results.to_measure(folder) and waits.startswith(f"{len(left)} versions")
    measurer.before = lambda version: None
    assert_resumes(folder, left)


def test_a_full_disk_leaves_the_rest_to_a_resume(
    folder: RunFolder, measurer: Measurer, monkeypatch: pytest.MonkeyPatch
) -> None:
    report, written = NodeLogs.report, list[Record]()

    def full(self: NodeLogs, record: Record) -> None:
        if len(written) == 2:
            self._reports.write(line(record)[:20])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(record)
        report(self, record)

    monkeypatch.setattr(NodeLogs, "report", full)
    with pytest.raises(HostError, match="No space left on device: make room") as raised:
        conduct(folder)
    assert raised.value.__notes__[-1] == results.to_measure(folder)
    monkeypatch.setattr(NodeLogs, "report", report)
    assert_resumes(folder, [4, 6, 8])


def test_a_damaged_file_is_named_and_passed_over(folder: RunFolder, measurer: Measurer) -> None:
    damaged = kept_versions(folder.server / "versions")[2]
    damaged.write_bytes(damaged.read_bytes()[:-4])
    with pytest.raises(EmulatorError, match=rf"damaged, so .* no score: {damaged.name}"):
        conduct(folder)
    assert scored(folder) == [0, 2, 6, 8]
    assert results.read_json(folder.path / "summary.json")["unmeasured"]["versions"] == [4]


@pytest.mark.parametrize("gathered", [False, True])
@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("reason, outcome", [("updates", "success"), ("stopped", "stopped")])
def test_a_conductor_that_was_killed_while_it_measured(
    tmp_path: Path, measurer: Measurer, gathered: bool, durable: bool, reason: str, outcome: str
) -> None:
    """It has reported two scores, has removed one of the files, and has begun a third line."""
    folder = ended(tmp_path, durable=durable, reason=reason)
    first, second, third, *_ = kept_versions(folder.server / "versions")
    with folder.reports.open("ab") as reports:
        for path in (first, second):
            record, theta = read_version(path, SIZE)
            reports.write(line(replace(record, accuracy=float(theta[0]), loss=1.0)))
        reports.write(line(read_version(third, SIZE)[0])[:30])
    first.unlink()
    if gathered and not durable:  # by `emulate report`
        results.recover(folder.path)
    assert_all_measured(folder, resume(folder), outcome)


def test_a_run_that_died_without_durability_is_measured_as_far_as_it_came(
    tmp_path: Path, measurer: Measurer
) -> None:
    folder = ended(tmp_path, reason="")
    assert not results.recover(folder.path)
    summary = resume(folder)
    assert summary["detail"] == resume_containers.DIED and summary["duration_s"] == 8.0
    assert_all_measured(folder, summary, "failed")


def test_a_failed_run_that_cannot_go_on_is_measured(folder: RunFolder, measurer: Measurer) -> None:
    with pytest.raises(DeploymentError, match="the engine died"):
        conduct(folder, ending=DeploymentError("the engine died"))
    assert_all_measured(folder, results.read_json(folder.path / "summary.json"), "failed")


def test_a_failed_run_that_can_go_on_is_not_measured_yet(
    tmp_path: Path, measurer: Measurer
) -> None:
    folder = ended(tmp_path, durable=True, reason="")
    with pytest.raises(DeploymentError) as raised:
        conduct(folder, DURABLE, ending=DeploymentError("the engine died"))
    assert measurer.lives == 0 and not results.unmeasured(folder)
    assert "goes on with it from the server's state" in raised.value.__notes__[-1]
    assert len(kept_versions(folder.server / "versions")) == 5
