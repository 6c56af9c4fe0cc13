"""`emulate new` writes scenarios that can be read; `emulate schema` installs their schema."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from emulator.cli.prepare.new import templates
from emulator.scenario import load, schema
from tests.fakes.small_scenario import OWN_MODEL, OWN_MODELS
from tests.fakes.typed_commands import Emulate
from tests.layers import ROOT


@pytest.mark.parametrize(
    "template",
    [
        pytest.param(name, marks=pytest.mark.tensorflow if name in OWN_MODELS else ())
        for name in templates()
    ],
)
def test_a_template_becomes_a_scenario_of_the_given_name(
    emulate: Emulate, tmp_path: Path, template: str
) -> None:
    result = emulate("new", "lab", "--from", template)
    assert (result.code, result.err) == (0, "")
    text = (tmp_path / "lab.yaml").read_text()
    assert load(tmp_path / "lab.yaml").name == "lab"
    assert text.count("#") >= 6, "a template has comments"
    address = re.match(r"# yaml-language-server: \$schema=(\S+)\n", text)
    assert address, text
    assert json.loads((tmp_path / address[1]).read_text()) == schema()
    written = {path.name for path in tmp_path.iterdir()} - {"cache", address[1]}
    said = re.search(rf"wrote (.*) \(template {template}\)", result.out)
    assert said and set(said[1].split(", ")) == written
    assert "emulate run lab.yaml --on virtual" in result.out


def test_templates_are_listed_with_their_questions(emulate: Emulate) -> None:
    listed = emulate("new").out.splitlines()
    assert [line.split()[0] for line in listed] == list(templates())
    assert listed[0].startswith("quickstart ")
    assert all(line.endswith("?") for line in listed)


def test_two_scenarios_share_the_python_file_of_a_template(
    emulate: Emulate, tmp_path: Path
) -> None:
    assert emulate("new", "first", "--from", OWN_MODEL).code == 0
    assert emulate("new", "second", "--from", OWN_MODEL).code == 0
    assert (tmp_path / "second.yaml").is_file()


def test_the_link_of_a_template_changes_early_in_its_run() -> None:
    """Without the change virtual time meets the template's target accuracy after 19 s."""
    *_, mobile = load(templates()["bottleneck"]).nodes
    (step,) = mobile.link.up.steps
    assert step.at <= 10


@pytest.mark.parametrize(
    ("taken", "other"), [("lab.yaml", "NAME or folder"), ("models.py", "folder")]
)
def test_no_file_is_overwritten(emulate: Emulate, tmp_path: Path, taken: str, other: str) -> None:
    (tmp_path / taken).write_text("mine")
    result = emulate("new", "lab", "--from", "own-model")
    assert result.code == 2
    assert f"{taken} is here already: choose another {other}\n" in result.err
    assert (tmp_path / taken).read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} <= {taken, "cache"}


@pytest.mark.parametrize(
    "words, message",
    [
        (["sub/lab"], "'sub/lab': write up to 64 letters"),
        (["-", "--from", "fleet"], "'-': write up to 64 letters"),
        (["lab", "--from", "fleat"], "'fleat' is no template: there are quickstart, bottleneck, "),
    ],
)
def test_a_slip_writes_nothing(
    emulate: Emulate, tmp_path: Path, words: list[str], message: str
) -> None:
    result = emulate("new", *words)
    assert result.code == 2
    assert message in result.err
    assert list(tmp_path.iterdir()) == []


def test_a_name_may_be_that_of_the_file(emulate: Emulate, tmp_path: Path) -> None:
    assert emulate("new", "lab.yaml").code == 0
    assert load(tmp_path / "lab.yaml").name == "lab"


def test_the_installed_schema_is_the_printed_one(emulate: Emulate, tmp_path: Path) -> None:
    result = emulate("schema", "--install")
    file = tmp_path / "cache" / "scenario.schema.json"
    assert file.read_text() == emulate("schema").out.rstrip("\n")
    assert result.out.count(file.as_uri()) == 4
    for editor in ("VS Code", "Neovim", "PyCharm"):
        assert editor in result.out


def test_a_schema_that_cannot_be_written_is_one_message(
    emulate: Emulate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EMULATE_CACHE", str(tmp_path / "file"))
    result = emulate("new", "lab")
    assert result.code == 1
    assert result.err.startswith(f"emulate: cannot write {tmp_path}/file/scenario.schema.json")
    assert not (tmp_path / "lab.yaml").exists()


def test_a_wheel_carries_the_templates() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    carried = wheel["targets"]["wheel"]["force-include"]
    assert carried["scenarios/templates"] == "emulator/templates"
