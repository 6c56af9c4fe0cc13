"""What every runtime's session leaves behind, however the run ends."""

import errno
import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import emulator.runs.session
from emulator.errors import DeploymentError, HostError
from emulator.log.records import Record
from emulator.machine.host import Host
from emulator.runs.folder import RunFolder, conductor, create
from emulator.runs.session import Ending, Session
from emulator.scenario import dump, load, loads
from emulator.scenario.timeline.compiled import timeline
from tests.fakes.plain_records import full

SCENARIO = loads(
    """
name: pair
seed: 7
training: {dataset: digits, model: digits-mlp, algorithm: adacomp}
stop: {updates: 100}
devices: [{name: home, count: 2}]
faults: [{kind: crash, nodes: [home-0], at: 10s, lasts: 5s}]
"""
)
HOST = Host("bench", cores=2, memory=1 << 34, available=1 << 33, kernel="6.1")


@pytest.fixture
def session(tmp_path: Path) -> Session:
    folder = create("pair", tmp_path)
    return Session(SCENARIO, tuple(timeline(SCENARIO)), folder, "virtual")


def content(folder: RunFolder, name: str) -> Any:
    return json.loads((folder.path / name).read_text())


def play(
    session: Session,
    world: Callable[[], object],
    finish: Callable[[], object] = lambda: None,
) -> list[Ending | None]:
    """Play `world` in the session, then `finish`; return the endings that `finish` was shown."""
    seen: list[Ending | None] = []
    with session:
        with session.playing():
            world()
        seen.append(session.ending)
        finish()
    return seen


def fail(error: Exception) -> Callable[[], None]:
    def world() -> None:
        raise error

    return world


def test_a_run_that_comes_to_its_own_end(session: Session) -> None:
    conducted: list[int | None] = []
    path = session.folder.path
    assert play(session, lambda: conducted.append(conductor(path))) == [None]
    assert conducted == [os.getpid()]
    assert conductor(path) is None
    assert not session.folder.work.exists()


@pytest.mark.parametrize(
    "number, reason",
    [(signal.SIGINT, "canceled"), (signal.SIGHUP, "canceled"), (signal.SIGUSR1, "stopped")],
)
def test_a_run_that_someone_ends(session: Session, number: int, reason: str) -> None:
    before = signal.getsignal(number)
    assert play(session, lambda: os.kill(os.getpid(), number)) == [Ending(reason)]
    assert signal.getsignal(number) is before


def test_a_second_signal_does_not_keep_the_run_from_its_conclusion(session: Session) -> None:
    def end() -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    assert play(session, end, lambda: (end(), session.conclude([]))) == [Ending("canceled")]
    assert content(session.folder, "summary.json") == session.summary


@pytest.mark.parametrize("goes_wrong", [False, True])
def test_a_first_signal_does_not_keep_the_run_from_its_conclusion(
    session: Session, goes_wrong: bool
) -> None:
    def end() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        session.conclude([])

    if goes_wrong:
        with pytest.raises(RuntimeError, match="no such luck"):
            play(session, fail(RuntimeError("no such luck")), end)
    else:
        assert play(session, lambda: None, end) == [None]
    assert content(session.folder, "summary.json") == session.summary


def test_a_signal_while_the_world_is_removed_is_ignored(session: Session) -> None:
    def world() -> None:
        session.ignore_signals()
        os.kill(os.getpid(), signal.SIGTERM)

    assert play(session, world) == [None]


def test_a_run_that_no_closed_terminal_shall_end(session: Session) -> None:
    """`nohup emulate run` has the signal ignored; so it stays."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        seen = play(session, lambda: os.kill(os.getpid(), signal.SIGHUP))
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
    assert seen == [None]


def test_a_run_that_goes_wrong(session: Session) -> None:
    with pytest.raises(RuntimeError, match="no such luck") as raised:
        play(session, fail(RuntimeError("no such luck")), lambda: session.conclude([]))
    assert session.ending == Ending("failed", "no such luck")
    assert session.summary["scenario"] == "pair"
    assert str(session.folder.path) in raised.value.__notes__[0]
    assert conductor(session.folder.path) is None
    assert not session.folder.work.exists()


def test_a_folder_that_cannot_be_locked_changes_no_signal(session: Session) -> None:
    before = signal.getsignal(signal.SIGTERM)
    shutil.rmtree(session.folder.path)
    with pytest.raises(HostError, match="cannot write the lock"):
        play(session, lambda: None)
    assert signal.getsignal(signal.SIGTERM) is before


FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    "error, free, words",
    [
        (FULL, 1 << 30, "cannot be written: No space left on device: make room, and `emulate rep"),
        (OSError("8 requested and 0 written"), 0, "cannot be written: No space left on device"),
        (DeploymentError("server ended unasked"), 0, "cannot be written: No space left on device"),
        (OSError("8 requested and 0 written"), 1 << 30, None),
        (DeploymentError("server ended unasked"), 1 << 30, None),
        (RuntimeError("a bug"), 0, None),
    ],
)
def test_a_disk_that_is_full_is_told_of_in_one_line(
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    free: int,
    words: str | None,
) -> None:
    usage = SimpleNamespace(free=free)
    monkeypatch.setattr(emulator.runs.session, "disk_usage", lambda path: usage)
    with pytest.raises(HostError if words else type(error)) as raised:
        play(session, fail(error))
    said = str(raised.value)
    assert session.ending == Ending("failed", said)
    assert (raised.value.__cause__ is error) == bool(words)
    assert said.count("\n") == 0
    assert said.startswith(
        f"the run's folder {session.folder.path} {words}" if words else str(error)
    )


@pytest.mark.parametrize("good", [True, False])
def test_a_disk_that_is_full_when_the_run_ends(session: Session, good: bool) -> None:
    world = (lambda: None) if good else fail(DeploymentError("no such luck"))
    with pytest.raises(HostError, match="No space left on device") as raised:
        play(session, world, fail(FULL))
    assert getattr(raised.value, "__notes__", []) == ([] if good else ["before that: no such luck"])
    assert isinstance(raised.value.__cause__, OSError if good else DeploymentError)


def test_a_damaged_log_does_not_hide_the_error_before_it(session: Session) -> None:
    with pytest.raises(ValueError, match="not a record") as raised:
        play(session, fail(DeploymentError("no such luck")), fail(ValueError("not a record")))
    assert raised.value.__notes__ == ["before that: no such luck"]
    assert isinstance(raised.value.__cause__, DeploymentError)


def test_a_folder_that_is_removed_while_the_run_goes_on(session: Session) -> None:
    def world() -> None:
        shutil.rmtree(session.folder.path)
        session.folder.path.stat()

    with pytest.raises(HostError, match="was moved or removed while the run went on"):
        play(session, world, lambda: session.conclude([]))


def test_what_is_left_in_the_engine_is_in_the_summary(session: Session) -> None:
    left = ["network emulate-1-wan stays"]
    session.conclude([], left=left)
    assert session.summary["left"] == left
    session.conclude([])
    assert session.summary["left"] == []


def test_a_folder_says_what_was_planned(session: Session) -> None:
    session.describe(HOST, ("numpy",), tcp="ideal")
    folder = session.folder
    assert load(folder.path / "scenario.yaml") == SCENARIO
    verbs = [json.loads(line)["verb"] for line in folder.timeline.read_text().splitlines()]
    assert verbs == ["kill", "start"]
    manifest = content(folder, "manifest.json")
    assert manifest["started"].endswith("Z")
    assert manifest["versions"].keys() == {"emulate", "numpy"}
    assert {key: manifest[key] for key in manifest.keys() - {"started", "versions"}} == {
        "id": folder.run,
        "scenario": "pair",
        "algorithm": "adacomp",
        "runtime": "virtual",
        "host": {"name": "bench", "cores": 2, "memory": 1 << 34},
        "tcp": "ideal",
        "not_kept": [],
    }


def test_a_manifest_says_what_the_runtime_does_not_keep(session: Session) -> None:
    changed = loads(dump(SCENARIO), ["devices[0].profile={memory: 1GiB}"])
    replace(session, scenario=changed).describe(HOST, ())
    assert content(session.folder, "manifest.json")["not_kept"] == [
        {
            "keys": ["devices[0].profile.memory"],
            "why": "no device runs out of memory in virtual time without a fault that takes some",
        }
    ]


def test_a_summary_is_made_of_records_that_pass_by_once(session: Session) -> None:
    def records() -> Iterator[Record]:
        yield full({"at": 0, "what": "start", "devices": 2})
        yield full({"at": 10.0, "what": "kill", "node": "home-0", "planned": 10.0})
        sizes = dict.fromkeys(("values", "indices", "headers", "framing"), 1)
        yield full({"at": 11.0, "what": "update", "node": "home-1", **sizes})
        yield full({"at": 12.0, "what": "stop", "reason": "updates"})

    session.conclude(records())
    summary = session.summary
    assert summary == content(session.folder, "summary.json")
    result = ("scenario", "algorithm", "seed", "runtime", "devices", "outcome", "faults_planned")
    assert [summary[key] for key in result] == ["pair", "adacomp", 7, "virtual", 2, "success", 1]
    assert summary["fidelity"]["kept_up"]


@pytest.mark.parametrize(
    "ending, facts",
    [
        (Ending("stopped"), {"reason": "stopped"}),
        (Ending("failed", "no room"), {"reason": "failed", "detail": "no room"}),
    ],
)
def test_an_ending_as_the_logs_last_word(ending: Ending, facts: dict[str, str]) -> None:
    assert ending.facts() == facts


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
@pytest.mark.parametrize("told_before", [False, True])
def test_a_signal_does_not_end_a_run_that_has_come_to_its_own_end(
    session: Session, number: int, told_before: bool
) -> None:
    """The server may also write its end between the signal and the order to stop."""
    ended: list[bool] = []
    with session:
        with session.playing(lambda: bool(ended)):
            try:
                if not told_before:
                    ended.append(True)
                os.kill(os.getpid(), number)
            finally:
                ended.append(True)
        session.conclude([])
    assert session.ending is None


def test_an_error_that_the_conclusion_raises_again_is_told_once(session: Session) -> None:
    with pytest.raises(DeploymentError, match="differs") as raised:
        play(session, fail(DeploymentError("it differs")), fail(DeploymentError("it differs")))
    assert getattr(raised.value, "__notes__", []) == []
