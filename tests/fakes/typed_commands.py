"""Commands as one types them, in an empty folder of a machine with neither engine nor data."""

import gc
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from emulator import datasets
from emulator.cli import main
from emulator.datasets.examples import Examples
from emulator.runs import preflight


class Said(NamedTuple):
    """What a command left on the terminal."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Emulate = Callable[..., Said]


@pytest.fixture
def emulate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Emulate:
    """Types a command in an empty folder of a machine with neither engine nor data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    monkeypatch.setenv("EMULATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "100")

    def typed(*words: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["emulate", *map(str, words)])
        gc.freeze()  # so that what is collected below is the command's own
        try:
            main()
            code: Any = 0
        except SystemExit as ended:
            code = ended.code or 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()  # where no engine answers, docker leaves its socket to the collector
        gc.unfreeze()
        return Said(code, *capsys.readouterr())

    return typed


SCENARIO = """# Does it say what is wrong?
name: pair
training: {dataset: digits, model: digits-mlp, algorithm: adacomp}
stop: {updates: 100}
devices:
  - {name: near, count: 3, profile: phone}
  - {name: far, link: {up: {rate: 1mbit}}}
faults:
  - {kind: crash, nodes: [far], at: 60s}
"""


def scenario(tmp_path: Path, *changes: tuple[str, str]) -> Path:
    text = SCENARIO
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file = tmp_path / "pair.yaml"
    file.write_text(text)
    return file


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Images, as if they had been fetched, on a machine that has TensorFlow."""
    labels = np.arange(200, dtype=np.uint8) % 10
    some = Examples(np.zeros((200, 8, 8), np.uint8), labels, 16)
    monkeypatch.setattr(datasets, "load", lambda name: datasets.Dataset(name, some, some))
    monkeypatch.setattr(preflight, "tensorflow_version", lambda: "2.0.0")
