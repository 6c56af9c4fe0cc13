"""A failed run with a durable server: its model, its state, and the way back into it."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from analysis.pages.run_warnings import warnings
from analysis.reading.runs import read as analysed
from emulator.cli.play.run import tell
from emulator.errors import DeploymentError, EmulatorError
from emulator.learning.models.saved_model import SavedModel, read, read_version, write
from emulator.node.durable import state_folder
from emulator.runs import results
from emulator.runs.conductor import ProgressView
from emulator.runs.data_split import split_data
from emulator.runs.folder import RunFolder, create
from emulator.runs.planning import plan
from emulator.runs.resumption import dead_run
from emulator.runs.session import Session
from emulator.runtimes.docker import play_containers
from emulator.runtimes.docker.engine.hosts import Hosts
from emulator.scenario import dump, loads
from emulator.scenario.timeline.compiled import timeline, to_jsonl
from emulator.shaping.backend import Backend
from tests.fakes.node.durable_fleet import LAYOUT, DurableFleet
from tests.fakes.typed_commands import Emulate

SCENARIO = loads(
    """
name: four
training: {dataset: digits, model: digits-mlp, algorithm: adacomp, learning_rate: 0.1}
stop: {updates: 100000}
server: {durability: update}
devices: [{name: a}, {name: b}, {name: c}, {name: d}]
"""
)
FAILED = {"reason": "failed", "detail": "the evaluator died"}


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = create("four", tmp_path)
    made.server.mkdir()
    (made.path / "scenario.yaml").write_text(dump(SCENARIO))
    made.timeline.write_text(to_jsonl(timeline(SCENARIO)))
    results.write_json(made.path / "manifest.json", {"runtime": "docker"})
    return made


@pytest.fixture
def fleet(folder: RunFolder, data: None) -> DurableFleet:
    made = DurableFleet(
        plan(SCENARIO, split_data(SCENARIO).examples, contained=True), folder.server
    )
    made.begin()
    made.play(60)
    return made


def content(path: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def concluded(folder: RunFolder, outcome: str) -> None:
    results.write_json(folder.path / "summary.json", {"outcome": outcome})


def test_a_failed_run_has_its_last_model_and_keeps_the_state(
    folder: RunFolder, fleet: DurableFleet
) -> None:
    server: Any = fleet.server.server
    before = content(folder.server)
    assert results.can_go_on(folder)
    origin = results.keep(folder, FAILED)
    assert content(folder.server) == before
    model = read(folder.path / "model.npz", LAYOUT)
    assert origin[:2] == ("recovered", model.version)
    assert model.version == server.version > 10
    assert np.array_equal(model.theta, server.model.snapshot())
    last = json.loads(folder.records.read_bytes().splitlines()[-1])
    assert last["what"] == "stop" and last["detail"] == FAILED["detail"]

    concluded(folder, "failed")
    assert results.recover(folder.path)
    assert dead_run(folder.path).scenario == SCENARIO
    results.forget_results(folder)
    names = {path.name for path in folder.path.iterdir()}
    assert "server" in names
    assert not names & {"run.jsonl", "model.npz", "model.json", "summary.json"}
    fleet.boot(resumes=1)  # the server itself finds all that it needs
    assert fleet.server.version == model.version


@pytest.mark.parametrize("torn", [0, 20])
def test_a_model_has_no_update_that_its_log_lacks(
    folder: RunFolder, fleet: DurableFleet, torn: int
) -> None:
    log = folder.server / "run.jsonl"
    whole = log.read_bytes()
    lines = whole.splitlines(keepends=True)
    # killed after an input was stored, while its record was written
    log.write_bytes(b"".join(lines[:-2]) + lines[-2][:torn])
    version = results.keep(folder, FAILED).version
    assert log.read_bytes() == b"".join(lines[:-2]) + lines[-2][:torn]
    records = [json.loads(line) for line in folder.records.read_bytes().splitlines()]
    kept = [record for record in records if record["what"] != "stop"]
    assert sorted(kept, key=str) == sorted(map(json.loads, lines), key=str)
    made = max(r["version"] for r in records if r["what"] == "update")
    assert made == read(folder.path / "model.npz", LAYOUT).version == version


def test_the_end_of_a_failed_run_names_the_way_back(
    folder: RunFolder, fleet: DurableFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(play_containers, "clean_up_late", lambda *of: ())
    session = Session(SCENARIO, (), folder, "docker")
    client: Any = None
    ready = SimpleNamespace(hosts=Hosts.here(client), backend=Backend())
    conducting: Any = play_containers.conducting
    with pytest.raises(DeploymentError) as raised, conducting(ready, session, ProgressView()):
        raise DeploymentError("the evaluator died")
    again = f"`emulate resume {folder.run}` goes on with it from the server's state"
    model = f"model.npz is from the server's state on the disk: version {fleet.server.version}"
    known = f"what is known of the run is in {folder.path}"
    assert raised.value.__notes__ == [known, model, again]
    summary = results.read_json(folder.path / "summary.json")
    assert (summary["outcome"], summary["resumable"]) == ("failed", True)
    assert (folder.path / "model.npz").is_file() and results.durable(folder)
    assert dead_run(folder.path).folder == folder


def test_a_run_that_died_has_its_last_model_too(folder: RunFolder, fleet: DurableFleet) -> None:
    for _ in range(2):
        assert results.recover(folder.path)
        model = read(folder.path / "model.npz", LAYOUT)
        assert model.version == fleet.server.version
        fleet.play(20)


def test_a_run_that_is_over_has_nothing_to_go_on_with(
    folder: RunFolder, fleet: DurableFleet
) -> None:
    fleet.server.end("diverged", fleet.now + 1.0)
    assert not results.can_go_on(folder)
    concluded(folder, "failed")
    assert not results.recover(folder.path)
    with pytest.raises(EmulatorError, match=r"is over \(failed\)"):
        dead_run(folder.path)


def test_a_run_that_never_began_has_nothing_to_go_on_with(folder: RunFolder, data: None) -> None:
    DurableFleet(plan(SCENARIO, split_data(SCENARIO).examples, contained=True), folder.server)
    assert not results.can_go_on(folder)


@pytest.mark.parametrize("outcome", ["success", "canceled", "stopped"])
def test_only_a_failed_run_goes_on(folder: RunFolder, fleet: DurableFleet, outcome: str) -> None:
    concluded(folder, outcome)
    with pytest.raises(EmulatorError, match=rf"is over \({outcome}\)"):
        dead_run(folder.path)


def test_a_state_that_cannot_be_read_gives_no_model(folder: RunFolder, fleet: DurableFleet) -> None:
    for file in (folder.server / "durable").iterdir():
        file.write_bytes(b"damaged")
    why = "no state and no inputs of the run can be read"
    source, version, note = results.keep(folder, FAILED)
    assert (source, version) == ("none", None) and why in note
    assert not (folder.path / "model.npz").exists()
    (folder.server / "checkpoint.npz").write_bytes(b"the last one")
    source, version, note = results.keep(folder, FAILED)
    assert (source, version) == ("checkpoint", None) and why in note
    assert (folder.path / "model.npz").read_bytes() == b"the last one"


def flip(path: Path, share: float) -> None:
    content = bytearray(path.read_bytes())
    content[int(share * len(content))] ^= 1
    path.write_bytes(content)


def test_a_state_of_another_format_is_named_and_stays(
    folder: RunFolder, fleet: DurableFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The version of emulate that began the run can still resume it."""
    server: Any = fleet.server
    with monkeypatch.context() as earlier:
        earlier.setattr(state_folder, "FORMAT", 1)
        server._save(server.journal.number)
        server.journal.finish()
    before, told = content(folder.server), list[str]()
    assert results.recover(folder.path, told.append)
    assert "state of format 1" in told[0] and "reads format 2" in told[0]
    assert content(folder.server) == before
    assert dead_run(folder.path).folder == folder


@pytest.mark.parametrize(
    "name, spoil",
    [
        ("flipped", lambda path: flip(path, 0.3)),
        ("cut", lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])),
        ("emptied", lambda path: path.write_bytes(b"")),
        ("deleted", lambda path: path.unlink()),
        ("noise", lambda path: path.write_bytes(b"damaged" * 99)),
    ],
)
def test_a_damaged_log_of_inputs_is_named_with_both_versions(
    name: str, spoil: Any, folder: RunFolder, fleet: DurableFleet
) -> None:
    logged = fleet.server.version
    (inputs,) = (folder.server / "durable").glob("inputs-*.log")
    spoil(inputs)
    told: list[str] = []
    assert results.recover(folder.path, told.append)
    (note,) = told
    if name in ("flipped", "cut"):
        version = read(folder.path / "model.npz", LAYOUT).version
        assert 0 < version < logged
        assert note == (
            f"model.npz has version {version}, and the log's last is {logged}: "
            f"{inputs.name} is damaged"
        )
    else:
        assert "no model.npz" in note and "no state and no inputs of the run can be read" in note
        assert (inputs.name in note) == (name == "noise")


def test_a_sound_log_of_inputs_is_not_named(folder: RunFolder, fleet: DurableFleet) -> None:
    told: list[str] = []
    assert results.recover(folder.path, told.append)
    version = fleet.server.version
    assert told == [f"model.npz is from the server's state on the disk: version {version}"]


def left_behind(how: str, folder: RunFolder, fleet: DurableFleet) -> tuple[str, int | None, str]:
    """Leave what a server leaves that ends as `how`; return source, version and note of the model
    that comes of it."""
    server: Any = fleet.server.server
    state, logged = folder.server / "durable", server.version
    made = SavedModel(server.model.snapshot(), logged, LAYOUT)
    match how:
        case "final":
            write(folder.server / "model.npz", made)
            write(folder.server / "checkpoint.npz", replace(made, version=7))
            return "final", logged, ""
        case "older":
            (inputs,) = state.glob("inputs-*.log")
            flip(inputs, 0.3)
            note = f" and the log's last is {logged}: {inputs.name} is damaged"
            return "recovered", None, note
        case "recovered":
            return "recovered", logged, f"from the server's state on the disk: version {logged}"
        case "damaged":
            write(folder.server / "checkpoint.npz", replace(made, version=7))
            for file in state.iterdir():
                file.write_bytes(b"damaged")
            return "checkpoint", 7, "is the last checkpoint, of version 7: the server's state gives"
        case "checkpoint":
            write(folder.server / "checkpoint.npz", replace(made, version=7))
            shutil.rmtree(state)
            return "checkpoint", 7, "is the last checkpoint, of version 7: the server wrote no"
    shutil.rmtree(state)
    return "none", None, ""


@pytest.mark.mostly_slow(quick=2)
@pytest.mark.parametrize("dead", [False, True], ids=["failed", "died"])
@pytest.mark.parametrize(
    "how", ["final", "older", "recovered", "damaged", "checkpoint", "nothing left"]
)
def test_the_source_of_the_model_is_named_wherever_the_run_is_read(
    how: str,
    dead: bool,
    folder: RunFolder,
    fleet: DurableFleet,
    monkeypatch: pytest.MonkeyPatch,
    emulate: Emulate,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source, version, note = left_behind(how, folder, fleet)
    told: list[str] = []
    if dead:
        results.recover(folder.path, told.append)
        known = results.read_json(folder.path / "model.json")
    else:
        monkeypatch.setattr(play_containers, "clean_up_late", lambda *of: ())
        client: Any = None
        ready: Any = SimpleNamespace(hosts=Hosts.here(client), backend=Backend())
        session = Session(SCENARIO, (), folder, "docker")
        conducting = play_containers.conducting(ready, session, ProgressView())
        with pytest.raises(DeploymentError) as raised, conducting:
            raise DeploymentError("the evaluator died")
        told = [line for line in raised.value.__notes__ if "model.npz" in line]
        known = session.summary["model"]
        assert known == results.read_json(folder.path / "summary.json")["model"]
    if how == "older":
        version = known["version"]
        assert 0 < version < fleet.server.version
        note = f"model.npz has version {version}," + note
    assert (known["source"], known["version"]) == (source, version)
    assert known.get("note", "") == "".join(told) and note in known.get("note", "")
    if source != "none":
        assert read_version(folder.path / "model.npz") == version
    page = warnings(analysed(folder.path))
    assert all(line in page for line in told) and bool(told) == (
        source in ("checkpoint", "recovered")
    )
    listed = emulate("list", "--runs", folder.path.parent.parent, "--json")
    assert json.loads(listed.out)[0]["model"] == source
    monkeypatch.setenv("COLUMNS", "300")
    shown = emulate("list", "--runs", folder.path.parent.parent).out
    assert (f", model: {source}" in shown) == bool(told)
    if not dead:
        tell(folder.path, session.summary)
        last = capsys.readouterr().out
        assert ("".join(f"{'model':<12} {line}\n" for line in told) in last) and (
            "model.npz" in last
        ) == bool(told)


def test_a_dead_run_in_virtual_time_has_the_model_of_its_last_checkpoint(
    folder: RunFolder, emulate: Emulate
) -> None:
    folder.server.rmdir()
    folder.records.write_bytes(b"")
    (folder.path / "model.npz").write_bytes(b"the last one")
    (note,) = (note for note in warnings(analysed(folder.path)) if "model.npz" in note)
    assert "the last checkpoint" in note
    listed = json.loads(emulate("list", "--runs", folder.path.parent.parent, "--json").out)
    assert (listed[0]["outcome"], listed[0]["model"]) == ("unfinished", "checkpoint")
    with folder.taken():
        listed = json.loads(emulate("list", "--runs", folder.path.parent.parent, "--json").out)
    assert (listed[0]["outcome"], listed[0]["model"]) == ("running", None)
