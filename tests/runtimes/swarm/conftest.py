"""Three engines of one Swarm, with a cache folder of their own; up once for all tests."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from emulator.runtimes.swarm import local_engines
from emulator.runtimes.swarm.local_engines import LocalEngine, LocalEngines
from tests.runtimes.swarm.three_hosts import Manager, left
from tests.runtimes.swarm.traces import traces

ENGINES = 3

Command = Callable[..., "subprocess.CompletedProcess[str]"]


def cluster_command(folder: Path) -> Command:
    """Return a function that runs `emulate cluster` with the cache in `folder`."""

    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "emulator", "cluster", *words]
        environment = os.environ | {"EMULATE_CACHE": str(folder)}
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    return run


@pytest.fixture(scope="session")
def engines_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The cache folder of the engines."""
    folder = tmp_path_factory.mktemp("engines")
    run = cluster_command(folder)
    made = run("up", "--local", str(ENGINES), "--json")
    assert made.returncode == 0, made.stderr
    engine = LocalEngine(**json.loads(made.stdout)["engines"][0])
    assert traces(engine)
    yield folder
    assert run("down").returncode == 0
    assert traces(engine) == set()


@pytest.fixture
def engines(engines_folder: Path, monkeypatch: pytest.MonkeyPatch) -> LocalEngines:
    """The engines, all of which answer."""
    monkeypatch.setenv("EMULATE_CACHE", str(engines_folder))
    known = local_engines.current()
    assert known is not None
    for engine in known.engines:
        if not engine.up():  # after a test that failed
            local_engines.start(engine)
    return known


@pytest.fixture
def spotless(engines: LocalEngines) -> Iterator[None]:
    """No engine has anything of a run at the end."""
    yield
    assert left(engines) == []


@pytest.fixture
def emulate_there(engines: LocalEngines, tmp_path: Path) -> Manager:
    return Manager(engines, tmp_path)
