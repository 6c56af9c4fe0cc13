"""The wheel: built, installed into an environment without a checkout, and used in an empty folder.

The packages that the wheel needs are those of the environment of these tests: a file of paths lends
them, without the checkout that is installed there.
"""

import json
import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from emulator.runtimes.docker.images import node_image
from tests.layers import ROOT

pytestmark = pytest.mark.slow

Typed = Callable[..., "subprocess.CompletedProcess[str]"]

SCENARIO = """
name: lab
training: {dataset: digits, model: digits-mlp, codec: ./half.py:Half, learning_rate: 0.1}
evaluate: {every: 50}
stop: {updates: 100, time: 60s}
devices:
  - {name: home, count: 2, link: {up: {rate: 10mbit}}}
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that pip has installed a built wheel into."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    wheel = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([*pip, *wheel, str(ROOT)], check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    venv.create(folder / "env", symlinks=True)
    python = folder / "env" / "bin" / "python"
    install = ["--python", str(python), "install", "--no-deps", str(built)]
    subprocess.run([*pip, *install], check=True, capture_output=True)
    paths = sysconfig.get_paths(vars={"base": str(folder / "env")})
    Path(paths["purelib"], "lent.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return python.parent


@pytest.fixture
def typed(installed: Path, tmp_path: Path) -> Typed:
    """Type a command in an empty folder; it must succeed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [installed / words[0], *words[1:]],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=280,
        )
        assert done.returncode == 0, f"{words}: {done.stdout}\n{done.stderr}"
        return done

    return run


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
