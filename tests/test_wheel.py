"""The wheel: built, installed where no checkout is, and used in an empty folder."""

import json
from pathlib import Path

import pytest

from emulator.runtimes.docker.images import node_image
from tests.fakes.installed_wheel import Typed
from tests.layers import ROOT

pytestmark = pytest.mark.slow

SCENARIO = """
name: lab
training: {dataset: digits, model: digits-mlp, codec: ./half.py:Half, learning_rate: 0.1}
evaluate: {every: 50}
stop: {updates: 100, time: 60s}
devices:
  - {name: home, count: 2, link: {up: {rate: 10mbit}}}
"""


def test_it_plays_in_virtual_time_from_an_empty_folder(typed: Typed, tmp_path: Path) -> None:
    where = typed("python", "-c", "import emulator; print(emulator.__file__)").stdout
    assert not Path(where.strip()).is_relative_to(ROOT)
    (tmp_path / "lab.yaml").write_text(SCENARIO)
    (tmp_path / "half.py").write_text((ROOT / "scenarios" / "own" / "half.py").read_text())
    typed("emulate", "data", "digits")
    typed("emulate", "check", "lab.yaml")
    typed("emulate", "test-codec", "./half.py:Half")
    typed("emulate", "run", "lab.yaml", "--on", "virtual")
    assert (tmp_path / "runs" / "lab" / "latest" / "report.html").is_file()
    assert json.loads(typed("emulate", "schema").stdout)["title"] == "Scenario"
    assert typed("emulate", "profiles").stdout
    assert {path.name for path in tmp_path.iterdir()} == {"lab.yaml", "half.py", "runs"}


@pytest.mark.docker
@pytest.mark.beside
def test_it_builds_its_image_and_plays_in_containers(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(SCENARIO)
    (tmp_path / "half.py").write_text((ROOT / "scenarios" / "own" / "half.py").read_text())
    assert node_image.name() in typed("emulate", "images").stdout  # the same code, the same image
    typed("emulate", "doctor")
    said = typed("emulate", "run", "lab.yaml", "--no-report").stdout
    assert "2.0x less than dense" in said
