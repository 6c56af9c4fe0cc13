"""A point of a study in containers: played, kept with the host's load, and removed if killed."""

import json
import os
import signal
import subprocess
import sys

import pytest

from emulator.scenario import load
from emulator.sweeps import Point, Quiet, sweep
from tests.containers.conftest import TINY, until

pytestmark = [pytest.mark.docker, pytest.mark.tensorflow, pytest.mark.timeout(180)]

SWEEPS = """
import sys
from pathlib import Path
from emulator.scenario import load
from emulator.sweeps import Point, Quiet, sweep

sweep([Point("tiny", load(Path("tiny.yaml")), on="docker")], Path("out"), 1, Quiet())
"""


@pytest.fixture
def tiny(tmp_path, monkeypatch, ours):
    monkeypatch.chdir(tmp_path)

    def write(text):
        (tmp_path / "tiny.yaml").write_text(text)
        return tmp_path / "tiny.yaml"

    return write


def test_a_point_is_played_in_containers(tiny, tmp_path, ours):
    scenario = load(tiny(TINY.replace("300", "100")))
    (finished,) = sweep([Point("tiny", scenario, on="docker")], tmp_path / "out", 1, Quiet())
    summary = json.loads((finished.folder / "summary.json").read_bytes())
    assert (summary["runtime"], summary["outcome"], summary["updates"]) == (
        "docker",
        "success",
        100,
    )
    assert finished.row["kept_up"] == summary["fidelity"]["kept_up"]
    assert not ours.left()


def test_its_containers_are_removed_if_the_sweep_is_killed(tiny, tmp_path, ours):
    tiny(TINY.replace("{updates: 300, time: 60s}", "{time: 10min}"))
    with subprocess.Popen([sys.executable, "-c", SWEEPS], cwd=tmp_path) as conductor:
        until(lambda: len(ours()) > 2, 60)
        os.kill(conductor.pid, signal.SIGKILL)
    assert ours.gone(60)
