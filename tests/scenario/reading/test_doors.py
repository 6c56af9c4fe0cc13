"""Every key has the same effect by each door: the file, `--set`, `--over`, and Python's `set`."""

import json
from pathlib import Path
from typing import Any

import pytest

from emulator.cli.play.python_calls import overrides
from emulator.errors import ScenarioError
from emulator.scenario import loads
from emulator.scenario.reading.dump import plain
from emulator.sweeps.point import Grid
from tests.containers.kinds.fleet import FLEET
from tests.cover import dealt_fleets
from tests.fakes.scenario_keys import path, places, without, written
from tests.fakes.virtual import random_features

TEXTS = (
    *(random_features.scenario(seed) for seed in (94, 122, 196, 387)),
    *map(dealt_fleets.scenario, dealt_fleets.TRAININGS),
    FLEET,
)


@pytest.mark.slow
def test_a_key_that_is_left_out_of_the_file_comes_by_each_door(tmp_path: Path) -> None:
    seen: set[str] = set()
    tried = [
        key
        for text in TEXTS
        for data in [written(text)]
        for address in places(data, seen)
        if (key := comes_by_each_door(data, address, tmp_path / "less.yaml"))
    ]
    assert len(tried) > 150, tried


def comes_by_each_door(data: dict[str, Any], address: tuple[Any, ...], file: Path) -> str:
    """Return the key at `address` once it is tried, or nothing if the file need not say it."""
    whole = plain(loads(json.dumps(data)))
    less, value = without(data, address)
    try:
        if plain(loads(json.dumps(less))) == whole:
            return ""  # the value is the default
    except ScenarioError:
        pass  # the key is required: an override mends the file
    key, text = path(address), json.dumps(value)
    assert plain(loads(json.dumps(less), [f"{key}={text}"])) == whole, key
    assert plain(loads(json.dumps(less), overrides({key: value}))) == whole, key
    file.write_text(json.dumps(less))
    (point,) = Grid(file, over=(f"{key}={text}",)).points()
    assert plain(point.scenario) == whole, key
    return key
