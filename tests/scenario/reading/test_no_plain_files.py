"""Every key that names a file, where the file is a pipe without a writer or a device without an
end: one line with the place refuses it, at once and in little memory."""

import os
import re
from pathlib import Path
from unittest.mock import patch

import pytest
import yaml

import emulator
from emulator.errors import ScenarioError
from emulator.scenario.reading.data_and_model_files import own_model
from emulator.scenario.reading.training_checks import _check_loss
from tests.fakes.endless_files import MAKERS, limited
from tests.scenario.reading.file_keys import BASE, KEYS, put

_FILE = re.compile(r"[\w./]+\.(?:csv|txt|graphml|yaml|npz|py)")
_INSIDE = {"RecurringAvailability.trace": "on.csv", "RecurringDegrade.link": "slower.yaml"}
"""Files that the file of the key names."""
_IN_FOLDER = ("PlayedTrace.files", "PlayedTrace.files of a folder")


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("key", KEYS)
def test_a_key_that_names_no_plain_file_is_refused(lab: Path, key: str, kind: str) -> None:
    place, value, around = KEYS[key]
    found = _FILE.search(value)
    name = _INSIDE.get(key) or ("bw/1.csv" if key in _IN_FOLDER else found and found[0]) or ""
    if place.startswith("workload."):  # where a folder will do, too
        name, value = "line.csv", value.replace("./app", "./line.csv")
    (lab / name).unlink()
    MAKERS[kind](lab / name)
    whole = {**BASE, **around, "training": {**BASE["training"], **around.get("training", {})}}  # type: ignore[dict-item]
    if "workload" in around:
        del whole["training"]
    whole = yaml.safe_load(yaml.safe_dump(whole))
    put(whole, place, yaml.safe_load(value))
    (lab / "whole.yaml").write_text(yaml.safe_dump(whole))
    os.chdir(lab)
    with (
        limited(),
        patch("emulator.scenario.reading.data_and_model_files.own_model", own_model),
        patch("emulator.scenario.reading.training_checks._check_loss", _check_loss),
        pytest.raises(ScenarioError) as error,
    ):
        emulator.load("whole.yaml")
    said = str(error.value)
    assert "\n" not in said
    assert any(word in said for word in (Path(name).name, "/dev/zero", place))  # a link is resolved
    assert re.search(
        r"pipe, socket or device|no regular file|no file|neither a file|only .csv", said
    ), said
    assert "whole.yaml:" in said or name in _INSIDE.values()
