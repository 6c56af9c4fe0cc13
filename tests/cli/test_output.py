"""`emulate run` whose reader goes away: the run ends as if the reader had stayed."""

import errno
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from emulator.cli.output import Enduring

FLEET = """
name: fleet
training: {dataset: mnist, model: mnist-cnn, algorithm: asgd}
virtual: {learner: none, step: {fixed: 10ms}, boot: {fixed: 1s}, serve: {fixed: 1ms}}
stop: {time: TIME}
devices: [{name: home, count: 3}]
faults: [{kind: crash, nodes: [home-0], at: 10s, lasts: 5s}]
"""
EMULATE = "import sys; from emulator.cli import main; sys.argv[0] = 'emulate'; main()"


def command(tmp_path: Path, time: str) -> list[str]:
    (tmp_path / "fleet.yaml").write_text(FLEET.replace("TIME", time))
    words = ["run", "fleet.yaml", "--on", "virtual", "--no-report"]
    return [sys.executable, "-c", EMULATE, *words]


def summary(tmp_path: Path) -> Any:
    return json.loads((tmp_path / "runs" / "fleet" / "latest" / "summary.json").read_text())


@pytest.mark.slow
def test_a_run_goes_on_when_its_pipe_is_closed(tmp_path: Path) -> None:
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command(tmp_path, "30s"), cwd=tmp_path, **pipes) as process:
        assert process.stdout and process.stderr
        process.stdout.readline()
        process.stdout.close()  # as head does
        result = process.stderr.read().decode()
        assert (process.wait(60), result) == (0, "")
    assert summary(tmp_path)["outcome"] == "success"


@pytest.mark.slow
@pytest.mark.parametrize(
    "before, code, outcome", [("", 130, "canceled"), ("trap '' HUP; ", 0, "success")]
)
def test_a_run_whose_terminal_is_closed(
    tmp_path: Path, before: str, code: int, outcome: str
) -> None:
    """The run ends as by Ctrl-C, even if nothing can be printed any more; under nohup the run goes
    on."""
    seconds = "3h" if code else "30s"
    words = command(tmp_path, seconds)
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        os.execv("/bin/sh", ["sh", "-c", before + 'exec "$@"', "sh", *words])
    said = b""
    while b"start:" not in said:
        said += os.read(terminal, 1 << 16)
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == code
    assert summary(tmp_path)["outcome"] == outcome


def test_other_errors_are_told() -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    with pytest.raises(OSError, match="Bad file descriptor"):
        Enduring(Closed()).write("much")


def test_a_stream_is_otherwise_as_it_was() -> None:
    inner = io.StringIO()
    stream = Enduring(inner)
    assert stream.write("word") == 4
    assert (inner.getvalue(), stream.isatty(), stream.encoding) == ("word", False, None)
