"""`emulate list`, `logs`, `stop` and `clean`: runs as they are and were."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from textwrap import indent

import pytest

from emulator.log.lines import line
from tests.fakes.plain_records import PlainRecord, full
from tests.fakes.typed_commands import Emulate


def test_no_runs(emulate: Emulate) -> None:
    assert "no runs in runs/: `emulate new` names" in emulate("list").out
    assert emulate("list", "--json").json == []


def test_the_runs_in_a_table(emulate: Emulate, runs: Path) -> None:
    unfinished = runs / "synthetic" / "20250103T120000Z-abc123"
    unfinished.mkdir()
    for folder in (unfinished, runs / "other" / "20250104T000000Z-ffffff"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "scenario.yaml").touch()
    (folder / "summary.json").write_text("{")
    result = emulate("list")
    assert result.err.startswith(
        "emulate: left out: runs/other/20250104T000000Z-ffffff/summary.json: "
    )
    rows = [line.split() for line in result.out.splitlines()]
    assert [(row[0], row[4]) for row in rows[1:]] == [
        ("abc121", "success"),
        ("abc122", "success"),
        ("abc123", "unfinished"),
    ]
    assert rows[1][1:4] == ["synthetic", "2025-01-01", "12:00"]
    assert "…" not in result.out
    listed = emulate("list", "--json").json
    assert [item["outcome"] for item in listed] == [row[4] for row in rows[1:]]
    assert listed[0]["run"] == "synthetic/20250101T120000Z-abc121"
    assert listed[0]["updates"] == 400


def test_a_run_with_which_the_host_did_not_keep_up_is_marked(emulate: Emulate, runs: Path) -> None:
    file = runs / "synthetic" / "20250102T120000Z-abc122" / "summary.json"
    summary = json.loads(file.read_text())
    for fidelity, kept_up in (
        ({"kept_up": True}, True),
        ({"kept_up": False}, False),
        ({}, None),
        (None, None),
    ):
        file.write_text(json.dumps(summary | {"fidelity": fidelity}))
        (row,) = (row for row in emulate("list", "--json").json if row["id"] == "abc122")
        assert row["kept_up"] is kept_up
        assert ("host too slow" in emulate("list").out) == (kept_up is False)


def test_what_happened(emulate: Emulate, runs: Path) -> None:
    lines = emulate("logs", "abc121").out.splitlines()
    assert any(re.search(r"accuracy \d+\.\d+% after 200 updates", line) for line in lines)
    assert "stop: updates" in lines[-1] or "traffic" in lines[-1]
    assert emulate("logs", "abc121", "--follow").out.splitlines() == lines


def test_a_log_without_lines_is_said_to_be_empty(emulate: Emulate, runs: Path) -> None:
    folder = runs / "synthetic" / "20250102T120000Z-abc122"
    (folder / "run.jsonl").write_text("")
    (folder / "devices" / "fiber-0.log").write_text("")
    for words in (["abc122"], ["abc122", "--follow"]):
        result = emulate("logs", *words)
        assert (result.code, result.out) == (0, "")
        assert result.err == f"{folder.name}: the log has no lines\n"
    assert emulate("logs", "abc122", "fiber-0").err == f"{folder.name}: fiber-0 has no lines\n"
    assert emulate("logs", "abc121").err == ""


def test_what_a_device_printed(emulate: Emulate, runs: Path) -> None:
    assert emulate("logs", "synthetic", "fiber-0").out == "hello\nworld\n"
    result = emulate("logs", "synthetic", "fibre-0")
    assert result.code == 1
    assert "has no output of 'fibre-0', but of fiber-0" in result.err
    for log in runs.rglob("devices/*.log"):
        log.unlink()
    assert (
        "has no output of 'fiber-0', nor of any node" in emulate("logs", "synthetic", "fiber-0").err
    )


@pytest.mark.parametrize("command", ["logs", "stop", "report", "compare"])
def test_a_run_that_is_not_there(emulate: Emulate, runs: Path, command: str) -> None:
    result = emulate(command, "synthetik")
    assert result.code == 1
    assert result.err.startswith(
        "emulate: no run 'synthetik' in runs/ (did you mean 'synthetic'?): give a run's folder"
    )


@pytest.mark.parametrize("command", ["logs", "stop", "report", "compare"])
def test_a_name_that_no_file_can_have(emulate: Emulate, runs: Path, command: str) -> None:
    result = emulate(command, "x" * 300)
    assert result.code == 1
    assert result.err.startswith(f"emulate: no run '{'x' * 300}' in runs/: ")
    result = emulate(command, "synthetik", "--runs", "x" * 300)
    assert result.code == 1
    assert result.err.startswith(f"emulate: no run 'synthetik' in {'x' * 300}/: ")


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


def test_a_run_that_died_before_it_had_begun_has_nothing_to_draw(
    emulate: Emulate, runs: Path
) -> None:
    folder = runs / "synthetic" / "20250103T120000Z-abc123"
    for name in (".work", "server", "devices"):
        (folder / name).mkdir(parents=True)
    (folder / "scenario.yaml").touch()
    result = emulate("report", "abc123")
    assert result.code == 1
    assert f"{folder.name} died before it had begun: run the scenario anew" in result.err
    assert not (folder / ".work").exists()


def test_a_run_that_is_over_cannot_be_stopped(emulate: Emulate, runs: Path) -> None:
    result = emulate("stop", "synthetic")
    assert result.code == 1
    assert "is not running (`emulate clean`" in result.err


@contextmanager
def conducting(folder: Path, does: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Start a process that holds the `folder`, announces this, and `does` things to the folder."""
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
        result = emulate("report", "synthetic")
        assert result.code == 1
        assert "is still running: `emulate logs -f synthetic` follows it" in result.err
        result = emulate("stop", "synthetic")
        assert conductor.wait(10) == 0
    assert result.code == 0
    assert result.out.endswith("outcome      stopped\n")


WRITES = """
part = folder / "server" / "{name}.part"
for size in range(6):
    part.write_bytes(bytes(size))
    time.sleep(0.25)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["model", "checkpoint"])
def test_a_run_whose_model_a_slow_disk_takes_has_time_to_stop(
    name: str, emulate: Emulate, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("emulator.cli.play.stop"), "TIMEOUT", 1.0)
    folder = (runs / "synthetic" / "latest").resolve()
    (folder / "server").mkdir()
    with conducting(folder, WRITES.format(name=name)) as conductor:
        result = emulate("stop", "synthetic")
        assert conductor.wait(10) == 0
    assert result.code == 0, result.err


def test_a_stranger_is_not_stopped(emulate: Emulate, runs: Path) -> None:
    """A dead run's number is another process's by now, and that one may be called like us."""
    idle = ["sh", "-c", "read end", "emulate"]
    with subprocess.Popen(idle, stdin=subprocess.PIPE) as stranger:
        (runs / "synthetic" / "latest" / "conductor.pid").write_text(str(stranger.pid))
        result = emulate("stop", "synthetic")
        assert stranger.poll() is None
        stranger.kill()
    assert result.code == 1
    assert "is not running (`emulate clean`" in result.err


@pytest.mark.slow
def test_a_run_is_followed_to_its_end(emulate: Emulate, runs: Path) -> None:
    """Also over the moment at which the server's log becomes part of the whole one."""
    folder = (runs / "synthetic" / "latest").resolve()
    whole = (folder / "run.jsonl").read_text().splitlines(keepends=True)
    (folder / "run.jsonl").unlink()
    (folder / "server").mkdir()
    (folder / "server" / "run.jsonl").write_text("".join(whole[:50]))
    (folder / "whole").write_text("".join(whole))
    with conducting(folder, ENDS):
        result = emulate("logs", "-f", "synthetic")
    assert result.out == emulate("logs", "synthetic").out


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

    module = import_module("emulator.cli.read.logs")  # its name in the package is the command's
    monkeypatch.setattr(module, "conductor", playing)
    monkeypatch.setattr(module, "PAUSE", 0.0)
    result = [line.split()[0] for line in emulate("logs", "-f", "synthetic").out.splitlines()]
    assert result == ["1.50", "0.00", "1.00", "3.00"]
