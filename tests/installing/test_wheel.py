"""The wheel: built, installed where no checkout is, and used in an empty folder."""

import json
import re
from pathlib import Path

import pytest

from emulator.runtimes.docker.images import node_image
from tests.fakes.installing.installed_wheel import Typed
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


HELP = """
import click
from emulator.cli.entry import commands
for name, command in commands.commands.items():
    print(name)
    print(command.get_help(click.Context(command, info_name=name)))
"""
NAMED = re.compile(r"(?<![\w/-])[\w./-]*\w\.(?:yaml|py|csv|jsonl?|npz|md|txt|mahimahi)\b(?::\w+)?")
TEMPLATES = {"lab": "quickstart", "half": "half", "made": "made-up"}
OF_THE_USER = {
    *("./my-profile.yaml", "downloaded.yaml", "scenario.yaml", "./own.py:Mine", "./houses.csv"),
    *("FILE.py:FUNCTION", "NAME.yaml", "./file.py:function", "./file.py:Class"),
    *("./figures.py:Class", "drive.mahimahi", "drive.csv", "costs.json", "COSTS.json"),
    "mine.yaml",
}
"""Files of a user's own, or words in their place; the help says how each is written."""
WRITTEN = {
    *(
        "FOLDER/NAME.md",
        "table.csv",
        "tuning.json",
        "tuned.yaml",
        "model.npz",
        "lte-drive.csv",
        "run.jsonl",
    ),
    *("scenario.schema.json", "summary.json", "/etc/emulate/node.json"),
}
"""Files that a command writes."""


def test_each_file_that_help_names_can_be_had_without_a_checkout(
    typed: Typed, tmp_path: Path
) -> None:
    named = set(NAMED.findall(typed("python", "-c", HELP).stdout))
    for name, template in TEMPLATES.items():
        typed("emulate", "new", name, "--from", template)
    for text in named - OF_THE_USER - WRITTEN:
        file, _, function = text.partition(":")
        assert (tmp_path / file).is_file(), text
        defined = re.findall(r"^(?:def|class) (\w+)", (tmp_path / file).read_text(), re.MULTILINE)
        assert function in ["", *defined], text
    typed("emulate", "test-codec", "./half.py:Half")


@pytest.mark.docker
def test_it_builds_its_image_and_plays_in_containers(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(SCENARIO)
    (tmp_path / "half.py").write_text((ROOT / "scenarios" / "own" / "half.py").read_text())
    assert node_image.name() in typed("emulate", "images").stdout  # the same code, the same image
    typed("emulate", "doctor")
    said = typed("emulate", "run", "lab.yaml", "--no-report").stdout
    assert "2.0x less than dense" in said
