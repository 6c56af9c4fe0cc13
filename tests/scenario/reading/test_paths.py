"""Every key that names a file, given in the file, by `--set`, by `--over`, from Python, and to
`emulate link`: all doors resolve to the same scenario."""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

import emulator
from emulator.cli.play.foreign_link import read_link
from emulator.cli.play.python_calls import overrides
from emulator.errors import ScenarioError
from emulator.scenario import Scenario
from emulator.scenario.reading.json_schema import schema
from emulator.sweeps import Grid
from tests.scenario.reading.file_keys import BASE, KEYS, LINE, put

_OTHERS = ("name", "faults", "format", "samples", "assign", "split", "output", "ready", "log")
"""Keys whose descriptions speak of files, though their values are no paths."""


def test_the_table_has_every_key_that_names_a_file() -> None:
    known = {key.split(" ")[0] if key[0].isupper() and "Class" not in key else key for key in KEYS}
    known |= {"layer table.layers", "Class in a file.kind"}
    named = set()
    parts: list[Any] = [schema()]
    for part in parts:
        for name, key in part.get("properties", {}).items() if isinstance(part, dict) else ():
            text = str(key)
            if ("path" in text.lower() or "file" in text.lower()) and name not in _OTHERS:
                named.add(f"{part['title']}.{name}")
        parts += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    assert named <= known


@pytest.mark.mostly_slow(quick=12)
@pytest.mark.parametrize("key", KEYS)
def test_each_door_gives_the_scenario_of_the_file(lab: Path, key: str) -> None:
    place, value, around = KEYS[key]
    base = {**BASE, **{k: v for k, v in around.items() if k != "training"}}
    base["training"] = {**BASE["training"], **around.get("training", {})}  # type: ignore[dict-item]
    if "workload" in around:
        del base["training"]
    whole = yaml.safe_load(yaml.safe_dump(base))
    put(whole, place, yaml.safe_load(value))
    (lab / "whole.yaml").write_text(yaml.safe_dump(whole))
    (lab / "base.yaml").write_text(yaml.safe_dump(base))
    os.chdir(lab)
    expected = emulator.load("whole.yaml")
    set_ = f"{place}={value}"
    assert emulator.load("base.yaml", [set_]) == expected
    assert emulator.load("base.yaml", overrides({place: value})) == expected  # type: ignore[arg-type]
    (point,) = Grid(Path("base.yaml"), over=(set_,)).points()
    assert point.scenario == expected
    os.chdir(lab.parent)  # nothing has the name here: the path counts from the scenario
    assert emulator.load(lab / "base.yaml", [set_]) == expected
    (point,) = Grid(lab / "base.yaml", (set_,)).points()
    assert point.scenario == expected
    # a shell completes paths from the working directory, wherever the scenario is
    (lab.parent / "far").mkdir()
    (lab.parent / "far" / "base.yaml").write_text((lab / "base.yaml").read_text())
    os.chdir(lab)
    elsewhere = emulator.load("../far/base.yaml", [set_])
    if "model: ./" not in str(base).replace("'", ""):
        assert elsewhere == expected


@pytest.mark.parametrize("value", ["line.csv", "./line.csv", "{file: line.csv}"])
def test_link_refuses_a_trace_where_it_stands(lab: Path, value: str) -> None:
    """Nothing plays the changes of a foreign container's link."""
    os.chdir(lab)
    with pytest.raises(
        ScenarioError, match=r"^link\.up\.trace: a foreign container's link does not"
    ):
        read_link(None, f"{{rate: 1mbit, trace: {value}}}", None)
    with pytest.raises(ScenarioError, match="trace"):
        read_link("./slow.yaml", None, None)


@pytest.mark.parametrize("value", ["./gone.csv", "gone/*.csv"])
def test_a_missing_file_is_named_with_the_option(lab: Path, value: str) -> None:
    (lab / "base.yaml").write_text(yaml.safe_dump(BASE))
    key = "files" if "*" in value else "file"
    set_ = f"devices[0].link.up.trace.{key}={value}"
    with pytest.raises(ScenarioError, match="gone") as error:
        emulator.load(lab / "base.yaml", [set_])
    assert str(error.value).startswith(f"--set {set_}: devices[0].link.up.trace.{key}: ")


# -- a file for each device --------------------------------------------------------------------


def _homes(lab: Path, count: int, files: str, rest: str = "") -> Scenario:
    text = yaml.safe_dump({**BASE, "devices": [{"name": "z"}]}).replace(
        "- name: z",
        f"- {{name: a}}\n- {{name: home, count: {count}, "
        f"link: {{up: {{trace: {{files: {files}}}}}}}}}\n- {{name: z}}",
    )
    (lab / "homes.yaml").write_text(text + rest)
    return emulator.load(lab / "homes.yaml")


def test_files_go_to_the_devices_in_the_order_of_their_numbers(lab: Path) -> None:
    scenario = _homes(lab, 3, "bw/*.csv")
    found = {node.name: node.link.up.trace for node in scenario.nodes if node.link.up.trace}
    assert {name: trace.file for name, trace in found.items()} == {
        "home-0": "bw/1.csv",
        "home-1": "bw/2.csv",
        "home-2": "bw/10.csv",
    }
    assert [node.name for node in scenario.nodes] == ["a", "home-0", "home-1", "home-2", "z"]


def test_fewer_files_than_devices_begin_anew_and_more_are_left_over(lab: Path) -> None:
    def played(count: int) -> list[str | None]:
        nodes = _homes(lab, count, "bw").nodes[1:-1]
        return [node.link.up.trace.file for node in nodes if node.link.up.trace]

    assert played(5) == ["bw/1.csv", "bw/2.csv", "bw/10.csv", "bw/1.csv", "bw/2.csv"]
    assert played(1) == ["bw/1.csv"]


def test_files_named_after_devices_go_to_their_namesakes(lab: Path) -> None:
    (lab / "bw" / "home-1.5g.csv").write_text(LINE)
    nodes = _homes(lab, 3, "bw").nodes[1:-1]
    files = [node.link.up.trace.file for node in nodes if node.link.up.trace]
    assert files == ["bw/1.csv", "bw/home-1.5g.csv", "bw/2.csv"]


def test_faults_and_bottlenecks_still_name_the_group(lab: Path) -> None:
    rest = (
        "faults:\n- {kind: crash, nodes: [home, z], at: 5s}\n"
        "bottlenecks:\n- {name: cell, up: {rate: 9mbit}, members: [home]}\n"
    )
    scenario = _homes(lab, 2, "bw", rest)
    assert scenario.targets_of_faults.aimed(0) == ("home-0", "home-1", "z")
    assert list(scenario.bottleneck_of) == ["home-0", "home-1"]


@pytest.mark.parametrize("files", ["{}/lab/bw", "{}/lab/bw/*.csv", "{}/lab/../lab/bw/?*.csv"])
@pytest.mark.parametrize("typed", [False, True], ids=["in the file", "by --set"])
def test_absolute_files_are_read_where_they_are(lab: Path, files: str, typed: bool) -> None:
    given = files.format(lab.parent)
    if typed:
        (lab / "base.yaml").write_text(yaml.safe_dump(BASE))
        options = [f"devices[0].link.up.trace.files={given}"]
        nodes = emulator.load(lab / "base.yaml", options).nodes
    else:
        nodes = _homes(lab, 2, f"'{given}'").nodes[1:-1]
    found = [node.link.up.trace.file for node in nodes if node.link.up.trace]
    assert [Path(str(file)).name for file in found] == ["1.csv", "2.csv"]
    assert all(Path(str(file)).is_absolute() for file in found)


@pytest.mark.parametrize("files", ["bw", "./bw/*.csv", "g[1]", "../a [[]1]/bw/*.csv"])
def test_folders_of_scenarios_and_traces_may_have_the_letters_of_patterns(
    lab: Path, files: str
) -> None:
    odd = lab.with_name("a [1]")
    if files == "g[1]":
        (lab / "bw").rename(lab / files)
    lab.rename(odd)
    nodes = _homes(odd, 2, f"'{files}'").nodes[1:-1]
    found = [node.link.up.trace.file for node in nodes if node.link.up.trace]
    assert [Path(str(file)).name for file in found] == ["1.csv", "2.csv"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ("none/*.csv", r"link.up.trace.files: no file matches .*none/\*.csv: write a pattern as"),
        ("[]", "link.up.trace"),
        ("3", "link.up.trace"),
        ("bw, file: line.csv", "link.up.trace: either `file` or `files`"),
        ("[gone.csv, line.csv]", "devices.1..link.up.trace.files: .*gone.csv cannot be read: No"),
    ],
)
def test_mistakes_in_files_are_named(lab: Path, files: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message) as error:
        _homes(lab, 2, files)
    assert "homes.yaml" in str(error.value)
