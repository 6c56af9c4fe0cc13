"""A Dask cluster of three workers, on this machine with a cache folder of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

WORKERS = 3


@pytest.fixture(scope="session")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache folder of the workers, in which nothing is at first."""
    return tmp_path_factory.mktemp("elsewhere")


@pytest.fixture(scope="session")
def cluster(elsewhere: Path) -> Iterator[str]:
    """The address of the cluster's scheduler."""

    def emulate(*words: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"EMULATE_CACHE": str(elsewhere)}
        command = [sys.executable, "-m", "emulator", "cluster", *words, "--json"]
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    made = emulate("up", "--local", str(WORKERS), "--dask")
    assert made.returncode == 0, made.stderr
    yield json.loads(made.stdout)["address"]
    assert emulate("down").returncode == 0
    assert not (elsewhere / "cluster" / "dask.json").exists()
