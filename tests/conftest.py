"""Fixtures that several folders of tests share; the fakes behind them are in tests/fakes/."""

import gc
import shutil
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from tests.fakes.installing.installed_wheel import installed, typed
from tests.fakes.runs.synthetic_run import two_runs
from tests.fakes.sweeps.made_up_sweeps import SCENARIO
from tests.fakes.typed_commands import Emulate, Said
from tests.gate import skips, times
from tests.layers import ROOT

__all__ = ["installed", "typed"]  # fixtures of a wheel

LEFT_OUT = ("slow", "docker", "tensorflow", "netns", "netem")
"""Marks of tests that `make check` leaves out."""

# The host may be busy with other work: no example is too slow. Examples are the same in each run;
# pytest --hypothesis-profile new draws others.
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("new", deadline=None)
settings.load_profile("same")


def pytest_addoption(parser: pytest.Parser) -> None:
    skips.pytest_addoption(parser)
    times.pytest_addoption(parser)


def pytest_configure(config: pytest.Config) -> None:
    skips.pytest_configure(config)
    times.pytest_configure(config)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Disable the garbage collector while tests are collected: it took a fifth of that time.

    What is loaded by then stays until the end, so later collections need not look through it.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before cases are selected by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cases of tests that are `mostly_slow` as slow, but for the first `quick` ones."""
    cases: Counter[str] = Counter()
    for item in items:
        few = item.get_closest_marker("mostly_slow")
        if few is not None and not any(map(item.get_closest_marker, LEFT_OUT)):
            name = item.nodeid.partition("[")[0]
            cases[name] += 1
            if cases[name] > few.kwargs.get("quick", 1):
                item.add_marker(pytest.mark.slow)


@pytest.fixture
def emulate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Emulate:
    """Types a command in an empty folder of a machine with neither engine nor data."""
    from emulator.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    monkeypatch.setenv("EMULATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "100")

    def typed(*words: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["emulate", *map(str, words)])
        gc.disable()  # so that what the command makes stays in the youngest generation
        try:
            main()
            code: Any = 0
        except SystemExit as ended:
            code = ended.code or 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect(0)  # where no engine answers, docker leaves its socket to the collector
        gc.enable()
        return Said(code, *capsys.readouterr())

    return typed


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Images, as if they had been fetched, on a machine that has TensorFlow."""
    from emulator.checks import this_host
    from emulator.learning import datasets
    from emulator.learning.datasets.examples import Examples

    labels = np.arange(200, dtype=np.uint8) % 10
    some = Examples(np.zeros((200, 8, 8), np.uint8), labels, 16)
    monkeypatch.setattr(datasets, "load", lambda name: datasets.Dataset(name, some, some))
    monkeypatch.setattr(this_host, "tensorflow_version", lambda: "2.0.0")


@pytest.fixture(scope="session")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two synthetic runs, the second unlike the first; only to be read."""
    return two_runs(tmp_path_factory.mktemp("synthetic") / "runs")


@pytest.fixture
def runs(synthetic: Path, tmp_path: Path) -> Path:
    """A copy of the two synthetic runs, at the usual place."""
    return Path(shutil.copytree(synthetic, tmp_path / "runs", symlinks=True))


@pytest.fixture
def sweep_file(tmp_path: Path) -> Path:
    """The file of the scenario that the tests of sweeps vary."""
    file = tmp_path / "pair.yaml"
    file.write_text(SCENARIO)
    return file


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Returns the learning rate and the seed of each point that was played so far."""
    log = tmp_path / "played"
    log.touch()
    monkeypatch.setenv("PLAYED", str(log))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return lambda: sorted(log.read_text().splitlines())


@pytest.fixture
def calibration_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, on a host that is called `here`."""
    from emulator.costs import calibration
    from emulator.costs.calibration import measuring

    monkeypatch.setenv("EMULATE_CACHE", str(tmp_path / "cache"))
    for place in (calibration, measuring):
        monkeypatch.setattr(place, "here", lambda: ("here", "Some Processor"))
    return tmp_path / "cache" / "calibration"
