"""`make compose`: which Compose it takes, and what it says without any."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.layers import ROOT

MADE = ("engine", "data", "images", ".venv/.installed")
"""Prerequisites that are there already."""


def made(folder: Path, *, plugin: bool, program: bool) -> tuple[int, str, list[str]]:
    """Type `make compose` on a machine with the plugin of Docker or the program docker-compose;
    return its code, what it said, and the commands that it ran."""
    log, programs = folder / "log", folder / "bin"
    programs.mkdir()
    for name, body in {
        "emulate": f'echo "emulate $*" >>{log}; echo "1.00 s  stop: updates"',
        "docker": f'[ "$1" = compose ] || exit 1; {"exit 1" if not plugin else ""}\n'
        f'[ "$2" = version ] || echo "docker $*" >>{log}',
        "docker-compose": f'echo "docker-compose $*" >>{log}',
    }.items():
        if name != "docker-compose" or program:
            (programs / name).write_text(f"#!/bin/sh\n{body}\n")
            (programs / name).chmod(0o755)
    for tool in ("bash", "sh", "grep"):
        (programs / tool).symlink_to(str(shutil.which(tool)))
    old = [word for name in MADE for word in ("--old-file", name)]
    command = [
        str(shutil.which("make")),
        "--no-print-directory",
        *old,
        "compose",
        f"BIN={programs}",
    ]
    command.append("INSTALLED=.venv/.installed")
    environment = {**os.environ, "PATH": str(programs)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr, log.read_text().splitlines()


LAID, LOGS = "emulate compose scenarios/smallest.yaml build/compose", "emulate logs build/compose"


@pytest.mark.parametrize(
    "plugin, program, compose",
    [(True, True, "docker compose"), (False, True, "docker-compose")],
)
def test_it_plays_lays_down_and_takes_down(
    plugin: bool, program: bool, compose: str, tmp_path: Path
) -> None:
    code, said, ran = made(tmp_path, plugin=plugin, program=program)
    assert (code, ran) == (0, [LAID, f"{compose} up", f"{compose} down", LOGS])
    assert "stop: updates" in said


def test_without_compose_it_names_the_package(tmp_path: Path) -> None:
    code, said, ran = made(tmp_path, plugin=False, program=False)
    assert (code, ran) == (2, [LAID])
    assert "make: Compose is missing: as root, apt-get install docker-compose" in said
