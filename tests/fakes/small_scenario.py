"""A small scenario and the flaky homes, to be changed here and there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from emulator.errors import ScenarioError
from emulator.scenario import Scenario, loads
from tests.layers import ROOT

SCENARIOS = ROOT / "scenarios"
PLAYED = sorted(
    path
    for path in SCENARIOS.rglob("*.yaml")
    if not {"profiles", "papers"} & {*path.relative_to(SCENARIOS).parts}
)
FLAKY = SCENARIOS / "flaky-homes.yaml"
OWN_MODEL = "own-model"
"""Name of the template whose Keras model TensorFlow exports when the scenario is read."""
OWN_MODELS = (OWN_MODEL, "made-up")
"""Names of all such templates."""
WRITTEN = yaml.safe_load(FLAKY.read_text())

SMALL = """\
name: small
training:
  dataset: digits
  model: digits-mlp
  algorithm: asgd
stop: {updates: 10}
devices:
  - name: one
  - {name: pair, count: 2}
"""


def small(*changes: tuple[str, str], overrides: tuple[str, ...] = ()) -> Scenario:
    text = SMALL
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return loads(text, overrides, SCENARIOS)


def mistakes(*changes: tuple[str, str], overrides: tuple[str, ...] = ()) -> list[str]:
    with pytest.raises(ScenarioError) as error:
        small(*changes, overrides=overrides)
    return str(error.value).split("\n")


def in_folder(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder / "own.yaml"


def addresses(data: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield here
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from addresses(value, (*here, key))


def rows(names: dict[str, Path]) -> list[Any]:
    """Return a parameter for each file, with its name; those that need TensorFlow are marked."""
    marks = dict.fromkeys(OWN_MODELS, pytest.mark.tensorflow)
    return [
        pytest.param(path, id=name, marks=marks.get(path.stem, ())) for name, path in names.items()
    ]
