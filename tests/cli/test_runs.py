"""`emulate list`, `logs`, `stop` and `clean`: runs as they are and were."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
from docker.errors import APIError
from requests import Response

from emulator.log.lines import line
from emulator.machine import lock
from emulator.runs.folder import RunFolder
from emulator.runtimes.docker.cleanup import clean_up
from tests.fakes.plain_records import PlainRecord, full
from tests.fakes.typed_commands import Emulate


def test_no_runs(emulate: Emulate) -> None:
    assert "no runs in runs/: `emulate run" in emulate("list").out
    assert emulate("list", "--json").json == []


def test_the_runs_in_a_table(emulate: Emulate, runs: Path) -> None:
    unfinished = runs / "synthetic" / "20250103T120000Z-abc123"
    unfinished.mkdir()
    for folder in (unfinished, runs / "other" / "20250104T000000Z-ffffff"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "scenario.yaml").touch()
    (folder / "summary.json").write_text("{")
    told = emulate("list")
    assert told.err.startswith(
        "emulate: left out: runs/other/20250104T000000Z-ffffff/summary.json: "
    )
    rows = [line.split() for line in told.out.splitlines()]
    assert [(row[0], row[4]) for row in rows[1:]] == [
        ("abc121", "success"),
        ("abc122", "success"),
        ("abc123", "unfinished"),
    ]
    assert rows[1][1:4] == ["synthetic", "2025-01-01", "12:00"]
    assert "…" not in told.out
    listed = emulate("list", "--json").json
    assert [one["outcome"] for one in listed] == [row[4] for row in rows[1:]]
    assert listed[0]["run"] == "synthetic/20250101T120000Z-abc121"
    assert listed[0]["updates"] == 400


def test_what_happened(emulate: Emulate, runs: Path) -> None:
    lines = emulate("logs", "abc121").out.splitlines()
    assert any(re.search(r"accuracy \d+\.\d+% after 200 updates", line) for line in lines)
    assert "stop: updates" in lines[-1] or "traffic" in lines[-1]
    assert emulate("logs", "abc121", "--follow").out.splitlines() == lines


def test_what_a_device_printed(emulate: Emulate, runs: Path) -> None:
    assert emulate("logs", "synthetic", "fiber-0").out == "hello\nworld\n"
    told = emulate("logs", "synthetic", "fibre-0")
    assert told.code == 1
    assert "has no output of 'fibre-0', but of fiber-0" in told.err


@pytest.mark.parametrize("command", ["logs", "stop", "report", "compare"])
def test_a_run_that_is_not_there(emulate: Emulate, runs: Path, command: str) -> None:
    told = emulate(command, "synthetik")
    assert told.code == 1
    assert told.err.startswith(
        "emulate: no run 'synthetik' in runs/ (did you mean 'synthetic'?): give a run's folder"
    )


@pytest.mark.parametrize("command", ["logs", "stop", "report", "compare"])
def test_a_name_that_no_file_can_have(emulate: Emulate, runs: Path, command: str) -> None:
    told = emulate(command, "x" * 300)
    assert told.code == 1
    assert told.err.startswith(f"emulate: no run '{'x' * 300}' in runs/: ")
    told = emulate(command, "synthetik", "--runs", "x" * 300)
    assert told.code == 1
    assert told.err.startswith(f"emulate: no run 'synthetik' in {'x' * 300}/: ")


def test_a_folder_that_may_not_be_looked_into_is_no_run(
    emulate: Emulate, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_file = Path.is_file

    def refused(path: Path) -> bool:
        if path.parent.name.endswith("abc121"):
            raise PermissionError(13, "Permission denied", str(path))
        return is_file(path)

    monkeypatch.setattr(Path, "is_file", refused)
    assert [row["id"] for row in emulate("list", "--json").json] == ["abc122"]


def test_a_run_that_is_over_cannot_be_stopped(emulate: Emulate, runs: Path) -> None:
    told = emulate("stop", "synthetic")
    assert told.code == 1
    assert "is not running (`emulate clean`" in told.err


@contextmanager
def conducting(folder: Path, does: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that holds the `folder`, and says so, while it `does` things to it."""
    command = [sys.executable, "-c", CONDUCTOR.format(does=indent(does, "    ")), str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"taken\n"
        yield process
        process.kill()


CONDUCTOR = """
import pathlib, shutil, signal, sys, time
from emulator.machine import lock
from emulator.runs.folder import RunFolder
folder = pathlib.Path(sys.argv[1])
with RunFolder(folder, "abc123").taken():
    signal.signal(signal.SIGUSR1, lambda number, frame: None)
    print("taken", flush=True)
{does}
"""
STOPS = """
signal.pause()
text = (folder / "summary.json.later").read_text().replace("success", "stopped")
(folder / "summary.json").write_text(text)
"""
ENDS = """
time.sleep(0.7)
(folder / "whole").rename(folder / "run.jsonl")
shutil.rmtree(folder / "server")
"""


def test_a_run_that_is_being_played(emulate: Emulate, runs: Path) -> None:
    folder = (runs / "synthetic" / "latest").resolve()
    (folder / "summary.json").rename(folder / "summary.json.later")
    (folder / "server").mkdir()
    (folder / "run.jsonl").rename(folder / "server" / "run.jsonl")
    with conducting(folder, STOPS) as conductor:
        assert emulate("list", "--json").json[-1]["outcome"] == "running"
        assert "after 400 updates" in emulate("logs", "synthetic").out
        told = emulate("report", "synthetic")
        assert told.code == 1
        assert "is still running: `emulate logs -f synthetic` follows it" in told.err
        told = emulate("stop", "synthetic")
        assert conductor.wait(10) == 0
    assert told.code == 0
    assert told.out.endswith("outcome      stopped\n")


def test_a_stranger_is_not_stopped(emulate: Emulate, runs: Path) -> None:
    """A dead run's number is another process's by now, and that one may be called like us."""
    idle = ["sh", "-c", "read end", "emulate"]
    with subprocess.Popen(idle, stdin=subprocess.PIPE) as stranger:
        (runs / "synthetic" / "latest" / "conductor.pid").write_text(str(stranger.pid))
        told = emulate("stop", "synthetic")
        assert stranger.poll() is None
        stranger.kill()
    assert told.code == 1
    assert "is not running (`emulate clean`" in told.err


def test_a_run_is_followed_to_its_end(emulate: Emulate, runs: Path) -> None:
    """Also over the moment at which the server's log becomes part of the whole one."""
    folder = (runs / "synthetic" / "latest").resolve()
    whole = (folder / "run.jsonl").read_text().splitlines(keepends=True)
    (folder / "run.jsonl").unlink()
    (folder / "server").mkdir()
    (folder / "server" / "run.jsonl").write_text("".join(whole[:50]))
    (folder / "whole").write_text("".join(whole))
    with conducting(folder, ENDS):
        told = emulate("logs", "-f", "synthetic")
    assert told.out == emulate("logs", "synthetic").out


def write_log(path: Path, records: list[PlainRecord]) -> None:
    path.write_bytes(b"".join(line(full(record)) for record in records))


def test_scores_that_come_late_are_followed_too(
    emulate: Emulate, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the server's log they stand where they came in, in the whole one where they belong."""
    folder = (runs / "synthetic" / "latest").resolve()
    early, late = (
        {"what": "evaluation", "accuracy": 0.5, "updates": n, "push_bytes": n, **facts}
        for n, facts in ((0, {"at": 0.0, "scored": 2.0}), (1, {"at": 1.0, "scored": 9.0}))
    )
    stop = {"at": 3.0, "what": "stop", "reason": "updates"}
    between = {"at": 1.5, "what": "sever", "node": "a", "fault": "partition"}
    between |= {"begins": True, "planned": 1.5}
    write_log(folder / "run.jsonl", [early, late, between, stop])
    whole, server = folder / "run.jsonl", folder / "server" / "run.jsonl"
    later = whole.rename(folder / "later")
    server.parent.mkdir()
    write_log(server, [between, early])
    looks = iter([1, None])

    def playing(path: Path) -> int | None:
        if (pid := next(looks)) is None:
            later.rename(whole)
        return pid

    module = import_module("emulator.cli.logs")  # its name in the package is the command's
    monkeypatch.setattr(module, "conductor", playing)
    monkeypatch.setattr(module, "PAUSE", 0.0)
    told = [line.split()[0] for line in emulate("logs", "-f", "synthetic").out.splitlines()]
    assert told == ["1.50", "0.00", "1.00", "3.00"]


class Engine:
    """An engine that holds a network and containers of some runs, each with these labels."""

    def __init__(self, *owners: dict[str, str], state: str = "running") -> None:
        self.api = self
        self.containers_ = [
            {"Id": f"{one['emulate.run']}-{number}", "Labels": one, "State": state, "Names": []}
            for one in owners
            for number in range(2)
        ]
        self.networks_ = [{"Id": one["emulate.run"], "Labels": one} for one in owners]
        self.removed: list[str] = []
        self.attached: dict[str, str] = {}
        """Networks to which somebody else's container is attached."""

    def containers(self, all: bool, filters: dict[str, str]) -> list[Any]:
        return self._of(self.containers_, filters)

    def networks(self, filters: dict[str, str]) -> list[Any]:
        return self._of(self.networks_, filters)

    def volumes(self, filters: dict[str, str]) -> dict[str, list[Any]]:
        return {"Volumes": []}

    def _of(self, things: list[Any], filters: dict[str, str]) -> list[Any]:
        run = filters["label"].partition("=")[2]
        return [one for one in things if run in ("", one["Labels"]["emulate.run"])]

    def remove_container(self, name: str, **options: object) -> None:
        self.containers_ = [one for one in self.containers_ if one["Id"] != name]

    def remove_network(self, name: str) -> None:
        if name in self.attached:
            refused = Response()
            refused.status_code = 403
            raise APIError("error while removing network", response=refused)
        self.networks_ = [one for one in self.networks_ if one["Id"] != name]
        self.removed.append(name)

    def inspect_network(self, name: str) -> Any:
        return {"Containers": {"1": {"Name": self.attached[name]}}}


def marks(run: str, folder: Path | None, lock: Path) -> dict[str, str]:
    made = {"emulate.folder": str(folder)} if folder else {}
    return {"emulate.run": run, "emulate.lock": str(lock), **made}


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """Of a dead run, of three that are being played, and of one of which nothing is known."""
    from emulator.runtimes.docker import client

    for name in ("dead01", "here01"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "scenario.yaml").touch()
    (tmp_path / "dead01.lock").write_text("1")
    engine = Engine(
        marks("dead01", tmp_path / "dead01", tmp_path / "dead01.lock"),
        marks("here01", tmp_path / "here01", tmp_path / "nowhere"),
        marks("moved1", tmp_path / "moved1", tmp_path / "moved1.lock"),
        marks("begin1", None, tmp_path / "begin1.lock"),
        marks("other1", tmp_path / "other1", tmp_path / "other1.lock"),
    )
    monkeypatch.setattr(client, "connect", lambda: engine)
    with (
        RunFolder(tmp_path / "here01", "here01").taken(),
        lock.held(tmp_path / "moved1.lock"),
        lock.held(tmp_path / "begin1.lock"),
    ):
        yield engine


ALL = ["dead01", "here01", "moved1", "begin1", "other1"]


@pytest.mark.parametrize(
    "words, removed",
    [
        ((), ["dead01"]),
        (("--force",), ALL),
        (("--run", "dead01"), ["dead01"]),
        (("--run", "moved1"), []),
        (("--run", "unheard"), []),
    ],
)
def test_living_runs_are_spared(
    emulate: Emulate, engine: Engine, tmp_path: Path, words: tuple[str, ...], removed: list[str]
) -> None:
    told = emulate("clean", "--json", *words)
    assert told.code == 0
    assert engine.removed == removed
    assert told.json["containers"] == 2 * len(removed)
    assert told.json["networks"] == len(removed)
    named = [run for run in ALL if words[-1:] in ((), (run,))]
    assert told.json["spared"] == [run for run in named if run not in removed]
    assert (tmp_path / "dead01.lock").exists() == ("dead01" not in removed)


def test_what_is_spared_can_be_ended_from_here(
    emulate: Emulate, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in a folder that has no runs."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    lines = emulate("clean").out.splitlines()
    assert lines == [
        "removed 2 containers, 1 networks, 0 volumes",
        f"left alone: run here01 is being played; `emulate stop {tmp_path}/here01` ends it",
        "left alone: run moved1 is being played, in a folder that was moved from "
        f"{tmp_path}/moved1: `emulate stop` ends it, given the folder's new place",
        f"left alone: run begin1 is just starting (process {os.getpid()})",
        "left alone: run other1 has running containers, and its lock cannot be seen from here "
        f"({tmp_path}/other1.lock): end the run on the machine that started it",
    ]


def test_where_nothing_runs_and_nothing_is_known(
    emulate: Emulate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from emulator.runtimes.docker import client

    engine = Engine(marks("other1", None, tmp_path / "nowhere"), state="exited")
    monkeypatch.setattr(client, "connect", lambda: engine)
    assert "removed 2 containers, 1 networks" in emulate("clean").out


def test_a_new_run_removes_what_is_dead_for_certain(engine: Engine) -> None:
    from emulator.runtimes.docker.owners import remove_dead

    told: list[str] = []
    engine.containers_ = []  # without any that runs nothing but its lock protects a run
    remove_dead(engine, told.append)
    assert told == ["removing what dead runs have left: dead01"]
    assert engine.removed == ["dead01"]
    remove_dead(engine, told.append)
    assert len(told) == 1


def test_a_run_that_ended_with_something_left_is_dead(tmp_path: Path) -> None:
    """Its locks are gone, as they should be; its folder is where it was made."""
    from emulator.runtimes.docker.owners import owners

    (tmp_path / "ended1").mkdir()
    engine = Engine(marks("ended1", tmp_path / "ended1", tmp_path / "ended1.lock"))
    (owner,) = owners(engine)
    assert owner.dead and owner.abandoned


def test_the_lock_of_another_user_proves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from emulator.runtimes.docker import owners

    def refuse(path: Path) -> None:
        raise PermissionError(path)

    monkeypatch.setattr(owners.lock, "holder", refuse)
    (tmp_path / "theirs").mkdir()
    engine = Engine(marks("theirs", tmp_path / "theirs", tmp_path / "theirs.lock"))
    (owner,) = owners.owners(engine)
    assert not owner.dead and not owner.abandoned


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_network_that_somebody_else_uses_stays_and_the_rest_goes(
    emulate: Emulate, engine: Engine, tmp_path: Path, words: tuple[str, ...]
) -> None:
    engine.attached = {"dead01": "stranger"}
    told = emulate("clean", "--force", *words)
    assert told.code == 1
    assert engine.removed == ALL[1:]
    why = "these containers of somebody else's are attached: stranger: remove them, then `emulate"
    assert why in (told.json["left"][0] if words else told.err)
    assert (tmp_path / "dead01.lock").exists()
    engine.attached = {}
    assert emulate("clean", *words).code == 0
    assert engine.removed == [*ALL[1:], "dead01"]


def test_an_engine_that_fails_while_a_run_is_tidied_up() -> None:
    class Broken:
        def __init__(self) -> None:
            self.api = self

        def containers(self, **about: object) -> None:
            raise APIError("the engine is going down")

    (why,) = clean_up(Broken(), "abc123").left  # type: ignore[arg-type]
    assert "run abc123" in why and "the engine is going down" in why
