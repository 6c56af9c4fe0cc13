"""Plugins of users in a scenario: by file, with a message for each mistake, kept with the run."""

import json
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from emulator import plugins
from emulator.checks import own_parts
from emulator.checks.own_parts import missing_imports, unfit_plugins
from emulator.checks.training import unguarded_quarantine
from emulator.errors import ScenarioError
from emulator.plugins import family, own_class
from emulator.runs.plugin_sources import blamed, kept_scenario, plugin_sources
from emulator.scenario import load
from emulator.scenario.reading import json_schema
from emulator.sweeps.point import Point
from emulator.sweeps.point_process import PointTask
from tests.fakes.installing.doc_blocks import blocks
from tests.fakes.json_schema import mappings
from tests.fakes.typed_commands import Emulate
from tests.layers import ROOT

OWN = ROOT / "scenarios" / "own"
CODE = """
from dataclasses import dataclass
from emulator.units import Fraction
from helper import WORD
@dataclass(frozen=True)
class Mine:
    keep: Fraction
    step: int = 2
    word: str = WORD
    def __post_init__(self):
        if self.step > 9:
            raise ValueError(f"step is {self.step}: write up to 9")
    def start(self, context): ...
    def decode(self, frames, layout): ...
    def count(self, frames): ...
@dataclass(frozen=True)
class Odd(Mine):
    gone: "NotHere" = None
"""
SCENARIO = """\
name: lab
training:
  dataset: digits
  model: digits-mlp
  codec: CODEC
stop: {updates: 1}
devices:
  - {name: a, count: 2}
"""


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """A folder with the codec `own.py:Mine`, which imports a module beside it."""
    (tmp_path / "own.py").write_text(CODE)
    (tmp_path / "helper.py").write_text("WORD = 'beside'")
    return tmp_path


def written(lab: Path, codec: str) -> Path:
    file = lab / "lab.yaml"
    file.write_text(SCENARIO.replace("CODEC", codec))
    return file


def test_a_file_is_read_from_the_scenarios_folder_and_kept_with_the_run(lab: Path) -> None:
    scenario = load(written(lab, "{kind: ./own.py:Mine, keep: 5%}"))
    codec = scenario.training.codec
    assert (codec.kind, codec.keep, codec.step, codec.word) == ("own.py:Mine", 0.05, 2, "beside")  # type: ignore[union-attr]
    assert scenario.training.described == "own.py:Mine, constant, asynchronous"
    (lab / "own.py").write_text("1 / 0")  # the run keeps what was loaded
    run = lab / "runs" / "1"
    sources = plugin_sources(scenario, run)
    sources.write(run)
    assert (run / "plugins" / "own.py").read_text() == CODE
    assert {each["file"] for each in sources.plain()} == {"plugins/own.py", "plugins/helper.py"}
    (run / "scenario.yaml").write_text(kept_scenario(scenario, sources))
    again = load(run / "scenario.yaml")
    assert again.training.described == scenario.training.described
    kept = plugin_sources(again, run)  # as of a run that is resumed
    assert list(kept.places.values()) == ["own.py:Mine"]


def test_files_of_the_same_name_do_not_mix(lab: Path) -> None:
    other = lab / "other"
    other.mkdir()
    (other / "own.py").write_text((lab / "own.py").read_text().replace("def count", "def memory"))
    (other / "helper.py").write_text("WORD = 'other'")
    text = written(lab, "{kind: ./own.py:Mine, keep: 5%}").read_text()
    modulation = "  modulation: {kind: ./other/own.py:Mine, keep: 1%}\nstop"
    (lab / "lab.yaml").write_text(text.replace("stop", modulation, 1))
    scenario = load(lab / "lab.yaml")
    assert scenario.training.modulation.word == "other"  # type: ignore[union-attr]
    sources = plugin_sources(scenario, lab / "run")
    assert sorted(sources.places.values()) == ["2/own.py:Mine", "own.py:Mine"]


@pytest.mark.parametrize(
    "codec, says",
    [
        ("./owm.py:Mine", "codec: {lab}/owm.py: cannot be read: No such file or dir"),
        ("./own.py:Mime", "codec: {lab}/own.py: has no 'Mime' (did you mean 'Mine'?)"),
        ("./own.py:Mine", "codec.keep: is missing"),
        ("{kind: ./own.py:Mine, keep: 5}", "codec.keep: 5 has no unit: write it in %, as 5%"),
        ("{kind: ./own.py:Mine, keep: 5%, step: 10}", "codec: step is 10: write up to 9"),
        ("{kind: ./own.py:Mine, keep: 5%, stepp: 1}", "codec.stepp: no such key (did you mean"),
        ("{kind: ./own.py:Mine, keep: 5%, step: x}", "codec.step: 'x' is not a whole number"),
        ("{kind: ./own.py:Odd, keep: 5%}", "codec: Odd has a field that no file can hold: "),
        ("./helper.py:WORD", "codec: {lab}/helper.py:1: 'WORD' is no class: a codec is a class"),
        ("./broken.py:Mine", "codec: {lab}/broken.py:2: raises NameError: name 'y' is not defined"),
        ("./own.py", "codec: './own.py' names nothing in a file: write path, colon and name, ./f"),
        ("./own:Mine", "codec: './own:Mine' names nothing in a file: write path, colon and name"),
        ("{kind: topkk}", "codec.kind: 'topkk' (did you mean 'topk'?) is not dense or topk"),
    ],
)
def test_each_mistake_has_the_line_of_the_scenario_and_of_the_file(
    lab: Path, codec: str, says: str
) -> None:
    (lab / "broken.py").write_text("x = 1\ny")
    file = written(lab, codec)
    with pytest.raises(ScenarioError) as caught:
        load(file)
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"{file}:5: training.{says.replace('{lab}', str(lab))}")
    assert json.dumps(caught.value.mistakes)


BAD = """
from dataclasses import dataclass
import numpy as np
from emulator.codecs import ByteCount, Gradient, StatelessEncoder
from emulator.world.verbs import Action
print("printed at the import")
@dataclass(frozen=True)
class Bad:
    at: int = 0
    def __post_init__(self):
        BUILT
    def start(self, context):
        START
        return StatelessEncoder(self, context.layout)
    def encode(self, gradient, layout):
        print("printed by a method")
        ENCODE
        return (gradient.tobytes(),)
    def decode(self, frames, layout):
        DECODE
        return Gradient(np.frombuffer(frames[0], np.float32))
    def count(self, frames):
        return ByteCount(len(frames[0]), 0, 0)
    def begin(self, node):
        BEGIN
        return Action("kill", node, "bad")
    def end(self, node):
        return Action("start", node, "bad")
"""


def bad(lab: Path, place: str, line: str) -> None:
    """Write `bad.py`, with `line` in one `place`."""
    words = dict.fromkeys(("BUILT", "START", "ENCODE", "DECODE", "BEGIN"), "pass") | {place: line}
    text = BAD
    for word, code in words.items():
        text = text.replace(f"        {word}\n", f"        {code}\n")
    (lab / "bad.py").write_text(text)


@pytest.mark.parametrize(
    "place, line, says",
    [
        ("START", "1 / 0", "{lab}/bad.py:13: raises ZeroDivisionError: division by zero"),
        ("START", "return None", "bad.py:Bad: start returns None, which lacks encode"),
        ("ENCODE", "raise SystemExit(0)", "{lab}/bad.py:17: raises SystemExit: 0"),
        ("ENCODE", "return ['x']", "bad.py:Bad: encode returns a str: frames are bytes"),
        ("DECODE", "return 3", "bad.py:Bad: decode returns a int: a Gradient was expected"),
        ("DECODE", "layout = frames['x']", "{lab}/bad.py:20: raises TypeError: tuple indices mus"),
        ("DECODE", "frames = [frames[0][:8]]", "bad.py:Bad: decode returns 2 values for "),
    ],
)
def test_a_codec_that_fails_is_refused_before_the_run(
    lab: Path, place: str, line: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bad(lab, place, line)
    (refused,) = unfit_plugins(load(written(lab, "./bad.py:Bad")))
    assert str(refused).startswith(f"training.codec: {says.replace('{lab}', str(lab))}")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "place, line, says",
    [
        ("BUILT", "{}['x']", "{lab}/bad.py:11: raises KeyError: 'x'"),
        ("BUILT", "raise SystemExit(0)", "{lab}/bad.py:11: raises SystemExit: 0"),
        ("BUILT", "assert False, 'write at'", "write at"),
        ("BEGIN", "node['x']", "{lab}/bad.py:25: raises TypeError: string indices must"),
        ("BEGIN", "return None", "Bad: begin returns None: an Action with a known verb was exp"),
        ("BEGIN", "node = 'b'", "Bad: begin returns an action on 'b', not on the node that it is"),
    ],
)
def test_a_fault_that_fails_is_refused_with_its_line(
    lab: Path, place: str, line: str, says: str
) -> None:
    bad(lab, place, line)
    file = written(lab, "dense")
    file.write_text(file.read_text() + "faults: [{kind: ./bad.py:Bad, at: 1s, nodes: [a-0]}]\n")
    with pytest.raises(ScenarioError) as caught:
        load(file)
    (found,) = str(caught.value).splitlines()
    assert found.startswith(f"{file}:9: faults[0]: {says.replace('{lab}', str(lab))}")


def test_an_error_of_a_run_is_blamed_on_the_plugin_that_raised_it(lab: Path) -> None:
    bad(lab, "BEGIN", "1 / 0")
    scenario = load(written(lab, "./bad.py:Bad"))
    codec: Any = scenario.training.codec
    with pytest.raises(ZeroDivisionError) as raised:
        codec.begin("a-0")
    assert str(blamed(scenario, raised.value)).startswith(f"{lab}/bad.py:25: raises ZeroDivision")
    ours = ValueError("of the emulator")
    assert blamed(scenario, ours) is ours


def test_a_link_to_the_latest_run_may_move_meanwhile(lab: Path, tmp_path: Path) -> None:
    file = written(lab, "{kind: ./own.py:Mine, keep: 5%}")
    (tmp_path / "latest").symlink_to(lab)
    scenario = load(tmp_path / "latest" / file.name)
    (tmp_path / "latest").unlink()
    assert plugins.plain(scenario.training.codec)["kind"] == f"{lab.resolve()}/own.py:Mine"


@pytest.mark.parametrize("key", ["model", "loss", "schedule", "optimizer"])
def test_a_file_without_a_name_in_it_is_told_how_to_name_one(lab: Path, key: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load(written(lab, "dense"), [f"training.{key}=./own.py"])
    assert "'./own.py' names nothing in a file: write path, colon and name" in str(caught.value)


def test_an_override_counts_from_the_scenarios_folder(lab: Path) -> None:
    file = written(lab, "topk")
    overrides = ["training.codec={kind: ./own.py:Mine, keep: 1%}", "training.codec.keep=5%"]
    assert load(file, overrides).training.codec.kind == "own.py:Mine"


def test_the_shipped_example_is_what_it_says() -> None:
    assert load(OWN / "half.yaml").training.described.startswith("half.py:Half")


@pytest.mark.parametrize(
    "code, says",
    [
        ("import scipy.stats", "own.py:1: imports 'scipy.stats', which containers lack"),
        ("from emulator import scenario", "own.py:1: imports 'emulator.scenario', which contain"),
        ("import compression.zstd", "own.py:1: imports 'compression.zstd', which containers lack"),
        ("x = 1\ntype X = int", "own.py:2: "),
        ("def late():\n    import scipy", None),
        ("import json, numpy\nfrom emulator.codecs import TopK", None),
    ],
)
def test_imports_that_the_image_lacks_are_refused_before_a_run(
    lab: Path, code: str, says: str | None
) -> None:
    scenario = load(written(lab, "{kind: ./own.py:Mine, keep: 5%}"))
    name = f"{lab}/own.py:Mine"
    contents = {**own_class.contents(name), "own.py": code.encode()}
    with patch.dict(own_class._CONTENTS, {name: contents}):
        errors = [str(error) for error in missing_imports(scenario)]
    assert len(errors) == (says is not None)
    assert says is None or errors[0].startswith(says)


def test_syntax_is_that_of_the_containers_python_not_of_this_one(
    lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This host's Python may know more syntax than theirs, here more than 3.9 did."""
    monkeypatch.setattr(own_parts, "PYTHON", (3, 9))
    scenario = load(written(lab, "{kind: ./own.py:Mine, keep: 5%}"))
    name = f"{lab}/own.py:Mine"
    code = b"match 1:\n    case 1:\n        pass\n"
    with patch.dict(own_class._CONTENTS, {name: {**own_class.contents(name), "own.py": code}}):
        (error,) = map(str, missing_imports(scenario))
    assert error.startswith("own.py:")


def test_a_changed_file_makes_another_point_of_a_sweep(lab: Path) -> None:
    file = written(lab, "{kind: ./own.py:Mine, keep: 5%}")
    before = Point("a", load(file)).digest
    assert Point("a", load(file)).digest == before
    moved = lab.rename(lab.with_name("moved"))
    assert Point("a", load(moved / file.name)).digest == before
    (moved / "helper.py").write_text("WORD = 'beside', 1")
    assert Point("a", load(moved / file.name)).digest != before


def test_a_point_plays_the_sources_as_they_were_when_the_sweep_began(lab: Path) -> None:
    point = Point("a", load(written(lab, "{kind: ./own.py:Mine, keep: 5%}")))
    assert point.digest
    for name in ("own.py", "helper.py"):
        (lab / name).write_text("1 / 0")
    scratch = lab / "scratch"
    scratch.mkdir()
    PointTask(point, point.scenario, scratch).write()
    assert load(scratch / "scenario.yaml").training.described.startswith("own.py:Mine")


def test_a_fault_of_a_profile_is_read_from_the_profiles_folder(lab: Path) -> None:
    (lab / "profiles").mkdir()
    (lab / "profiles" / "own.py").write_text(
        "from dataclasses import dataclass\n"
        "from emulator.world.faults.crash import Crash\n"
        "@dataclass(frozen=True)\n"
        "class Outage(Crash): ...\n"
    )
    fault = "{kind: ./own.py:Outage, every: {exponential: 1min}, lasts: 1s}"
    (lab / "profiles" / "bad.yaml").write_text(f"description: x\nsource: y\nfaults: [{fault}]\n")
    file = written(lab, "{kind: topk, keep: 5%}")
    file.write_text(file.read_text().replace("count: 2", "count: 2, failures: [profiles/bad.yaml]"))
    scenario = load(file)
    assert scenario.devices[0].failures[0].faults[0].kind == "own.py:Outage"
    assert list(plugin_sources(scenario, lab).places.values()) == ["own.py:Outage"]
    file.write_text(file.read_text().replace("count: 2,", "count: 2, failure: [],"))
    (lab / "profiles" / "bad.yaml").write_text(f"faults: [{fault.replace('Outage', 'Outag')}]\n")
    with pytest.raises(ScenarioError, match=r"bad\.yaml:1: .*own\.py: has no 'Outag'"):
        load(file)


WAITING = """
from dataclasses import dataclass
from emulator.synchronization.softsync import Softsync
@dataclass(frozen=True)
class Waiting:
    splits: int = 1
    def start(self, members, seed=0, examples=None):
        return Softsync(1).start(members)
"""


@pytest.mark.parametrize(
    "aggregation", ["median", "{kind: krum, liars: 3}", "{kind: trimmed-mean, trim: 30%}"]
)
def test_a_synchronization_of_a_user_goes_with_any_aggregation(lab: Path, aggregation: str) -> None:
    """Nobody else knows the gradients of its steps, nor what its keys mean."""
    (lab / "sync.py").write_text(WAITING)
    own = "{kind: ./sync.py:Waiting, splits: 50}"
    file = written(lab, f"dense\n  synchronization: {own}\n  aggregation: {aggregation}")
    text = file.read_text() + "server: {quarantine: {refusals: 3, within: 1min, lasts: 1min}}\n"
    file.write_text(text)
    assert unguarded_quarantine(scenario := load(file)) == []
    assert not list(unfit_plugins(scenario))


@pytest.mark.slow
@patch.dict("sys.modules")  # the entry point leaves `own` and `helper` there
def test_the_schema_takes_files_and_has_the_fields_of_installed_plugins(
    lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = EntryPoint("mine", "own:Mine", "emulate.codecs")
    monkeypatch.setattr(
        family, "_entry_points", lambda group: {"mine": point} if group == point.group else {}
    )
    monkeypatch.syspath_prepend(lab)
    whole = json_schema.schema.__wrapped__()
    codec = whole["$defs"]["TrainingSection"]["properties"]["codec"]
    assert any(each.get("pattern") for each in codec["anyOf"])
    (fields,) = [
        part["properties"]
        for part in mappings(whole)
        if part.get("properties", {}).get("kind", {}).get("const") == "mine"
    ]
    assert fields.keys() == {"kind", "keep", "step", "word"}
    assert load(written(lab, "{kind: mine, keep: 5%}")).training.described.startswith("mine,")


@pytest.mark.parametrize("patient", [True, False])
def test_check_warns_about_a_synchronization_that_counts_no_steps(
    patient: bool, tmp_path: Path, emulate: Emulate, data: None
) -> None:
    page = ROOT / "docs" / "own-plugin.md"
    (source,) = (text for text in blocks(page, "python") if "class First" in text)
    (scenario,) = (text for text in blocks(page, "yaml") if "name: first" in text)
    (tmp_path / "first.py").write_text(source if patient else source.partition("    # --")[0])
    (tmp_path / "first.yaml").write_text(scenario)
    said = emulate("check", "first.yaml", "--on", "virtual")
    assert said.code == 0, said.err
    warned = "synchronization: first.py:First: it gives up a device" in " ".join(said.out.split())
    assert warned != patient
