"""Commands on a machine that this one is not: what other platforms lack is hidden from them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.errors import DataError
from emulator.learning import datasets
from emulator.machine.cache import cache
from tests.layers import ROOT

LINUX = """
import builtins, errno, io, os, platform, time

del os.sched_getaffinity
platform.system = lambda: "Darwin"

def _hiding(opened):
    def hidden(path, *rest, **more):
        if str(path).startswith("/proc/"):
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))
        return opened(path, *rest, **more)
    return hidden

builtins.open = io.open = _hiding(io.open)
_clock = time.clock_gettime

def _own_clocks(clock):
    if clock < 0:  # the clock of another process
        raise OSError(errno.EINVAL, "Invalid argument")
    return _clock(clock)

time.clock_gettime = _own_clocks
"""
"""Hides /proc, the CPU affinity, and the CPU clocks of other processes: macOS has none of them."""

TENSORFLOW = """
from importlib import metadata
from importlib.machinery import PathFinder

_found, _distribution = PathFinder.find_spec, metadata.distribution

def _hidden(name, path=None, target=None):
    return None if name.split(".")[0] == "tensorflow" else _found(name, path, target)

def _not_installed(name):
    if name.startswith("tensorflow"):
        raise metadata.PackageNotFoundError(name)
    return _distribution(name)

PathFinder.find_spec = staticmethod(_hidden)
metadata.distribution = _not_installed
"""
"""Hides the package, under either of its names."""


class Elsewhere:
    """Runs commands in a folder of their own, with `hidden` run first in each Python process."""

    def __init__(self, folder: Path, *hidden: str) -> None:
        self.folder = folder
        (folder / "site").mkdir()
        (folder / "site" / "sitecustomize.py").write_text("\n".join(hidden))

    def emulate(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run the command line; nothing that it says may be a traceback."""
        done = subprocess.run(
            [sys.executable, "-c", "from emulator.cli import main; main()", *words],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env={
                **os.environ,
                "PYTHONPATH": f"{self.folder / 'site'}:{ROOT}",
                "EMULATE_CACHE": str(self.folder / "cache"),
                "EMULATE_TENSORFLOW": "",
                "DOCKER_HOST": "unix:///nonexistent/docker.sock",
            },
            timeout=120,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def bring(self, *parts: str) -> None:
        """Copy something of this machine's cache into the folder's own; skip if it is missing."""
        if not cache(*parts).exists():
            pytest.skip(f"needs {cache(*parts)}")
        shutil.copytree(cache(*parts), self.folder / "cache" / Path(*parts))


def digits() -> None:
    """Skip the test where the digits are missing."""
    try:
        datasets.load("digits")
    except DataError as error:
        pytest.skip(f"needs the digits: {error}")
