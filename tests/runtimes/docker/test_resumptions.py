"""What a resumption in containers does with the schedule, and what it cannot resume."""

import json
from types import SimpleNamespace

import pytest

from emulator.errors import EmulatorError, HostError
from emulator.runs.folder import RunFolder
from emulator.runs.results import write_json
from emulator.runs.resumption import DeadRun
from emulator.runtimes.docker import resume_containers
from emulator.runtimes.docker.engine.hosts import Hosts
from emulator.runtimes.docker.resume_containers import rest_of, resume
from emulator.scenario import Timed
from emulator.shaping.backend import Backend
from emulator.world.verbs import Action
from tests.fakes.small_scenario import small

TIMELINE = (
    Timed(1.0, Action("kill", "a", "crash")),
    Timed(2.0, Action("sever", "b", "partition")),
    Timed(3.0, Action("start", "a", "crash")),
    Timed(4.0, Action("pause", "c", "pause")),
    Timed(9.0, Action("mend", "b", "partition")),
)


def test_faults_in_force_begin_anew_and_the_rest_follows():
    assert rest_of(TIMELINE, 0.5) == TIMELINE
    assert rest_of(TIMELINE, 2.5) == (
        Timed(2.5, TIMELINE[0].action),
        Timed(2.5, TIMELINE[1].action),
        *TIMELINE[2:],
    )
    assert rest_of(TIMELINE, 5.0) == (
        Timed(5.0, TIMELINE[1].action),
        Timed(5.0, TIMELINE[3].action),
        TIMELINE[4],
    )
    assert rest_of(TIMELINE[:3], 5.0) == (Timed(5.0, TIMELINE[1].action),)


def test_what_cannot_be_resumed_is_told(tmp_path):
    def of(*overrides):
        return DeadRun(RunFolder(tmp_path, "abc"), "docker", small(overrides=overrides), ())

    with pytest.raises(EmulatorError, match=r"without server\.durability"):
        resume(of(), None)
    for folder in (".work", "server"):  # it died before or after the server's first write
        (tmp_path / folder).mkdir()
        with pytest.raises(EmulatorError, match="died before it had begun: run the scenario anew"):
            resume(of("server.durability=update"), None)
        assert not (tmp_path / ".work").exists()
    (tmp_path / "run.jsonl").touch()
    with pytest.raises(EmulatorError, match="is gone, with the server's state"):
        resume(of("server.durability=update"), None)
    (tmp_path / "run.jsonl").unlink()
    (tmp_path / "server/durable").mkdir()
    (tmp_path / "server/run.jsonl").write_bytes(b"")
    with pytest.raises(EmulatorError, match="died before it had begun"):
        resume(of("server.durability=update"), None)


def test_a_damaged_count_of_resumptions_is_told(tmp_path):
    folder = RunFolder(tmp_path, "abc")
    folder.server.mkdir()
    assert [resume_containers._cleared(folder) for _ in range(2)] == [1, 2]
    (folder.server / "resumes").write_bytes(b"")
    with pytest.raises(EmulatorError, match=r"resumes: .* write the number of times"):
        resume_containers._cleared(folder)


@pytest.mark.parametrize(
    ("asked", "began", "used"),
    [
        ("packets", "netem", "packets"),
        ("receiver", None, "receiver"),
        (None, "netem", "netem"),
        (None, None, None),
        (None, "fog", None),
    ],
)
def test_links_are_shaped_as_asked_or_as_before(asked, began, used, tmp_path, monkeypatch):
    write_json(tmp_path / "manifest.json", {"shaping": {"delay": began} if began else {}})
    (tmp_path / "server").mkdir()
    means = []

    def get_ready(scenario, timeline, view, shaping, engines):
        means.append(shaping)
        raise HostError("not here")

    monkeypatch.setattr(resume_containers, "get_ready", get_ready)
    monkeypatch.setattr(resume_containers, "_checked", lambda dead: None)
    dead = DeadRun(RunFolder(tmp_path, "abc"), "docker", small(), ())
    with pytest.raises(HostError):
        resume(dead, Quiet(), shaping=asked)
    assert means == [used]


@pytest.mark.parametrize("over", [True, False])
def test_a_signal_does_not_cancel_a_run_that_was_over(over, tmp_path, monkeypatch):
    (tmp_path / "server").mkdir()
    told = []

    def conducting(ready, session, view, *, was_over=False):
        told.append(was_over)
        raise HostError("not here")

    replaced = {
        "_checked": lambda dead: SimpleNamespace(over=over),
        "_shaping": lambda folder: None,
        "_cleared": lambda folder: 1,
        "get_ready": lambda *given: SimpleNamespace(hosts=Hosts.here(None)),
        "clean_up_hosts": lambda *given: None,
        "conducting": conducting,
    }
    for name, value in replaced.items():
        monkeypatch.setattr(resume_containers, name, value)
    with pytest.raises(HostError):
        resume(DeadRun(RunFolder(tmp_path, "abc"), "docker", small(), ()), Quiet())
    assert told == [over]


def test_the_manifest_has_the_hosts_on_which_a_run_goes_on(tmp_path):
    """One of them may be down, and its devices have moved."""
    folder, file = RunFolder(tmp_path, "abc"), tmp_path / "manifest.json"
    file.write_text('{"hosts": {"one": ["a"], "two": ["b"]}, "id": "abc"}')
    resume_containers._note(folder, Backend(), {"one": ["a", "b"]})
    known = json.loads(file.read_text())
    assert known["hosts"] == {"one": ["a", "b"]} and known["id"] == "abc"
    assert known["shaping"] == Backend().plain()


class Quiet:
    def take_timeline(self, timeline): ...
    def progress(self, text): ...
