"""An environment that pip has installed a wheel of this tree into, to type commands in.

The packages that the wheel needs are those of the environment of these tests: a file of paths lends
them, without the checkout that is installed there.
"""

import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.layers import ROOT

Typed = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
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
