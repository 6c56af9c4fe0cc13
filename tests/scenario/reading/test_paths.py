"""Every key that names a file, given in the file, by `--set`, by `--over`, from Python, and to
`emulate link`: all doors resolve to the same scenario."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import yaml

import emulator
from emulator.cli.play.foreign_link import read_link
from emulator.cli.play.python_calls import overrides
from emulator.errors import ScenarioError
from emulator.learning.models import MODELS, saved_model
from emulator.scenario import Scenario
from emulator.scenario.reading.json_schema import schema
from emulator.sweeps import Grid

LINE = "seconds,rate\n0,1mbit\n5,2mbit\n10,end\n"
OWN = """
from dataclasses import dataclass
from emulator.aggregation import Mean
from emulator.codecs import Dense
from emulator.world.faults.crash import Crash
from emulator.modulation import Constant
from emulator.optimizers import SGD
from emulator.schedules import Sequential
from emulator.synchronization import Asynchronous
class Codec(Dense): ...
class Modulation(Constant): ...
class Synchronization(Asynchronous): ...
class Optimizer(SGD): ...
class Aggregation(Mean): ...
class Schedule(Sequential): ...
class Fault(Crash): ...
@dataclass(frozen=True)
class Figure:
    name = caption = "mine"
    def draw(self, runs, ax): ...
"""
FILES = {
    "line.csv": LINE,
    "on.csv": "0,on\n10,off\n20,end\n",
    "owners.txt": "a\nb\n" * 800,
    "table.csv": ",".join([*map(str, range(64)), "label"])
    + "".join(f"\n{'0.5,' * 64}{number % 10}" for number in range(20)),
    "own.py": OWN,
    "data.py": "import numpy as np\ndef load():\n"
    "    return np.zeros((20, 8, 8), np.float32), np.arange(20) % 10\n",
    "net.py": "def net(): ...\ndef loss(a, b): ...\n",
    "slow.yaml": "up: {rate: 1mbit, trace: line.csv}",
    "pi.yaml": "cpu: 20%",
    "nights.yaml": (
        "faults: [{kind: availability, trace: on.csv},"
        " {kind: degrade, every: {fixed: 9s}, lasts: {fixed: 1s}, link: ./slower.yaml}]"
    ),
    "slower.yaml": "up: {rate: 1kbit}",
    "net.yaml": "layers: [{name: a, kind: dense, parameters: 9, activations: 9, multiply_adds: 9}]",
}
BASE = {
    "name": "lab",
    "training": {"dataset": "digits", "model": "digits-mlp", "codec": "dense"},
    "stop": {"time": "100s"},
    "devices": [{"name": "a", "count": 2}],
}
AVAILABLE = {"faults": [{"kind": "availability", "nodes": "all"}]}
TABLE = {"virtual": {"step": "1s"}, "training": {"model": {"name": "n"}, "codec": "dense"}}

SIZED: dict[str, Any] = {"training": {"dataset": {"size": [8, 8], "label": "label"}}}

KEYS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "Side.trace": ("devices[0].link.up.trace", "./line.csv", {}),
    "PlayedTrace.file": ("devices[0].link.down.trace.file", "line.csv", {}),
    "PlayedTrace.files": ("devices[0].link.up.trace.files", "./bw/*.csv", {}),
    "PlayedTrace.files of a folder": ("devices[0].link.up.trace", "{files: bw}", {}),
    "PlayedTrace.files in a list": ("devices[0].link.up.trace.files", "[line.csv, bw/1.csv]", {}),
    "AimedAvailability.trace": ("faults[0].trace", "./on.csv", AVAILABLE),
    "AimedAvailability.trace as a name": ("faults[0].trace", "on.csv", AVAILABLE),
    "RecurringAvailability.trace": ("devices[0].failures", "[./nights.yaml]", {}),
    "Group.failures": ("devices[0].failures", "[nights.yaml]", {}),
    "Group.link": ("devices[0].link", "./slow.yaml", {}),
    "Group.profile": ("devices[0].profile", "pi.yaml", {}),
    "ServerSection.link": ("server.link", "slower.yaml", {}),
    "AimedDegrade.link": (
        "faults[0].link",
        "./slower.yaml",
        {"faults": [{"kind": "degrade", "nodes": "all", "at": "1s"}]},
    ),
    "RecurringDegrade.link": ("devices[0].failures", "[./nights.yaml]", {}),
    "layer table.layers": ("training.model.layers", "./net.yaml", TABLE),
    "TrainingSection.dataset": ("training.dataset", "./data.py:load", {}),
    "OwnDataset.file": ("training.dataset.file", "table.csv", SIZED),
    "OwnDataset.test_file": (
        "training.dataset.test_file",
        "./table.csv",
        {"training": {"dataset": {**SIZED["training"]["dataset"], "file": "../lab/table.csv"}}},
    ),
    "Owners.file": ("training.split", "{kind: owners, file: owners.txt}", {}),
    "TrainingSection.initial": ("training.initial", "model.npz", {}),
    "TrainingSection.model": ("training.model", "./net.py:net", {}),
    "TrainingSection.loss": (
        "training.loss",
        "net.py:loss",
        {"training": {"model": "./net.py:net"}},
    ),
    **{
        f"TrainingSection.{part}": (f"training.{part}", f"./own.py:{part.capitalize()}", {})
        for part in ("codec", "modulation", "synchronization", "optimizer", "aggregation")
    },
    "TrainingSection.schedule": ("training.schedule", "{kind: own.py:Schedule}", {}),
    "Class in a file.kind": ("faults", "[{kind: ./own.py:Fault, nodes: all, at: 1s}]", {}),
    "ReportSection.figures": ("report.figures", "[./own.py:Figure]", {}),
}
"""For each key that names a file: its place, a value, and the keys around it."""

_OTHERS = ("name", "faults", "format", "samples", "assign", "split")
"""Keys whose descriptions speak of files, though their values are no paths."""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "lab"
    (folder / "bw").mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    for name in ("1.csv", "2.csv", "10.csv"):
        (folder / "bw" / name).write_text(LINE)
    layout = MODELS["digits-mlp"].layout
    theta = np.zeros(layout.size, np.float32)
    saved_model.write(folder / "model.npz", saved_model.SavedModel(theta, 0, layout))
    here = Path.cwd()
    # the export of an own model needs TensorFlow
    own = "emulator.scenario.reading.data_and_model_files.own_model"
    loss = "emulator.scenario.reading.training_checks._check_loss"  # the stand-in takes no loss
    with (
        patch(own, lambda *_: MODELS["digits-mlp"]),
        patch(loss, lambda *_: None),
        patch.dict(os.environ),
    ):
        os.environ["EMULATE_CACHE"] = str(tmp_path / "cache")
        yield folder
    os.chdir(here)


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


def put(data: Any, place: str, value: Any) -> None:
    *steps, last = place.replace("[", ".").replace("]", "").split(".")
    for step in steps:
        number = step.isdigit()
        if not number and data.get(step) is None:
            data[step] = {}
        data = data[int(step) if number else step]
    data[int(last) if last.isdigit() else last] = value


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
