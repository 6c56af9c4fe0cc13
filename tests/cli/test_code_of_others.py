"""Commands that run the Python files of a scenario or a run's folder, and those that run none."""

import json
import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from emulator.runs.resumption import changed_code
from tests.fakes.typed_commands import Emulate
from tests.fakes.virtual_world import digits
from tests.layers import ROOT

EVIL = "from pathlib import Path\nPath('ran').touch()\n"
PAGES = ("README.md", "docs/own-plugin.md", "docs/run-folder.md")

LAB = """\
name: lab
training: {dataset: digits, model: digits-mlp, codec: dense, batch_size: 10}
virtual: {step: 10ms, boot: 100ms, serve: 1ms}
stop: {updates: 5}
devices: [{name: home, count: 2}]
"""
CODE = {
    "codec": ("--set", "training.codec=./evil.py:X"),
    "codec with keys": ("--set", "training.codec={kind: ./evil.py:X, a: 1}"),
    "optimizer": ("--set", "training.optimizer=./evil.py:X"),
    "modulation": ("--set", "training.modulation=./evil.py:X"),
    "aggregation": ("--set", "training.aggregation=./evil.py:X"),
    "synchronization": ("--set", "training.synchronization=./evil.py:X"),
    "schedule": ("--set", "training.schedule=./evil.py:X"),
    "figure": ("--set", "report={figures: [./evil.py:X]}"),
    "fault": ("--set", "faults=[{kind: ./evil.py:X, at: 1s}]"),
    "model": ("--set", "training.model=./evil.py:X"),
    "model and loss": ("--set", "training.model=./evil.py:X", "--set", "training.loss=./evil.py:X"),
    "data": ("--set", "training.dataset=./evil.py:x"),
    "data with keys": ("--set", "training.dataset={file: ./evil.py:x, task: regression}"),
    "codec of any letters": ("--set", "training.codec=./evil.py:größe"),
    "data of any letters": ("--set", "training.dataset=./evil.py:größe"),
    "model of any letters": ("--set", "training.model=./evil.py:größe"),
    "figure of any letters": ("--set", "report={figures: [./evil.py:größe]}"),
    "fault of any letters": ("--set", "faults=[{kind: ./evil.py:größe, at: 1s}]"),
    "file of two lines": ("--set", 'training.codec="./two\\nlines/../evil.py:X"'),
}
NO_NAME = {
    "dash": "./evil.py:X-Y",
    "end of line": '"./evil.py:X\\n"',
    "slash": "./evil.py:X/",
    "way back": "./evil.py:X/y/..",
    "link": "./link",
}
"""Texts that name no object of a file, though a path in one of them leads to such a name."""
PLACES = {
    "training.codec": "{}",
    "training.dataset": "{}",
    "training.model": "{}",
    "training.loss": "{}",
    "faults": "[{{kind: {}, at: 1s}}]",
    "report": "{{figures: [{}]}}",
}


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    (tmp_path / "evil.py").write_text(EVIL)
    (tmp_path / "lab.yaml").write_text(LAB)
    return tmp_path


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("words", CODE.values(), ids=CODE)
def test_a_check_without_code_runs_none(
    emulate: Emulate, lab: Path, words: tuple[str, ...]
) -> None:
    said = emulate("check", "lab.yaml", *words, "--no-code", "--on", "virtual")
    assert said.code == 0, said.out + said.err
    assert "not checked, as it would run code: " in said.out and "evil.py:" in said.out
    assert not (lab / "ran").exists()


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("words", CODE.values(), ids=CODE)
def test_a_check_without_code_finds_the_other_mistakes(
    emulate: Emulate, lab: Path, words: tuple[str, ...]
) -> None:
    said = emulate("check", "lab.yaml", *words, "--set", "stop.update=3", "--no-code", "--json")
    (mistake,) = json.loads(said.out)["mistakes"]
    assert said.code == 2 and mistake["place"] == "stop.update"
    assert not (lab / "ran").exists()


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("name", NO_NAME.values(), ids=NO_NAME)
@pytest.mark.parametrize("place", PLACES)
def test_a_text_that_names_no_object_is_a_mistake(
    emulate: Emulate, lab: Path, place: str, name: str
) -> None:
    (lab / "link").symlink_to("evil.py:X")
    given = f"{place}={PLACES[place].format(name)}"
    for more in ((), ("--no-code",)):
        said = emulate("check", "lab.yaml", "--set", given, *more, "--on", "virtual")
        assert said.code == 2 and place in said.err, said.out + said.err
        assert not (lab / "ran").exists()


@pytest.mark.usefixtures("data")
def test_a_model_is_left_out_beside_a_mistake(emulate: Emulate, lab: Path) -> None:
    wrong = ("--set", "devices[0].profile=nobody")
    said = emulate("check", "lab.yaml", *CODE["model"], *wrong, "--no-code")
    assert said.code == 2 and "devices[0].profile" in said.err
    assert not (lab / "ran").exists()


FLAKY = "{kind: crash, every: {fixed: 10s}, lasts: 1s}"
OWN = "{kind: ./evil.py:X, every: {fixed: 10s}, lasts: 1s}"


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize(
    "faults, left",
    [
        ([OWN], ["faults[0]", ""]),
        ([OWN, OWN], ["faults[0]", "faults[1]", ""]),
        ([OWN, FLAKY, OWN], ["faults[0]", "faults[2]"]),
    ],
    ids=["the only fault", "all faults", "two of three faults"],
)
def test_a_profile_without_other_faults_is_left_out(
    emulate: Emulate, lab: Path, faults: list[str], left: list[str]
) -> None:
    (lab / "f.yaml").write_text("faults:\n" + "".join(f"  - {fault}\n" for fault in faults))
    (lab / "g.yaml").write_text(f"faults: [{FLAKY}]\n")
    groups = "[{name: a, failures: [./f.yaml, ./g.yaml]}, {name: b, failures: [./f.yaml]}]"
    said = emulate(
        "check", "lab.yaml", "--no-code", "--json", "--on", "virtual", "--set", f"devices={groups}"
    )
    assert said.code == 0, said.out + said.err
    places = [text.partition(" (")[0] for text in said.json["not_checked"]]
    assert sorted(places) == sorted(
        ".".join(filter(None, (f"devices[{device}].failures[0]", fault)))
        for device in (0, 1)
        for fault in left
    )


@pytest.mark.usefixtures("data")
def test_mistakes_behind_a_removed_fault_keep_their_lines(emulate: Emulate, lab: Path) -> None:
    (lab / "lab.yaml").write_text(
        LAB + "faults:\n  - {kind: ./evil.py:X}\n  - {kind: crash, nodes: [nobody], at: 1s}\n"
    )
    said = emulate("check", "lab.yaml", "--no-code")
    assert said.code == 2 and said.err.startswith("lab.yaml:8: faults[1].nodes"), said.err


def _played(emulate: Emulate, lab: Path, figures: str = "") -> Path:
    shutil.copy(ROOT / "scenarios" / "own" / "figures.py", lab / "figures.py")
    if figures:
        (lab / "figures.py").write_text(figures)
    quick = LAB.replace("virtual: {", "virtual: {learner: numpy, ")  # makes no graph before
    (lab / "lab.yaml").write_text(quick + "report: {figures: [./figures.py:LossByDevice]}\n")
    with digits():
        said = emulate("run", "lab.yaml", "--on", "virtual", "--no-report")
    assert said.code == 0, said.err
    return (lab / "runs" / "lab" / "latest").resolve()


@pytest.mark.slow
def test_a_report_runs_no_file_that_has_changed(emulate: Emulate, lab: Path) -> None:
    figures = (ROOT / "scenarios" / "own" / "figures.py").read_text() + "import beside\n"
    (lab / "beside.py").touch()
    run = _played(emulate, lab, figures)
    kept, beside = (run / "plugins" / name for name in ("figures.py", "beside.py"))
    assert emulate("report", "lab").code == 0
    (run / "report.html").unlink()
    changes = {
        "a module beside it": lambda: beside.write_text(EVIL),
        "changed": lambda: (beside.write_text(""), kept.write_text(EVIL + figures)),
        "another file": lambda: (
            kept.write_text(figures),
            (run / "other.py").write_text(EVIL),
            (run / "scenario.yaml").write_text(
                (run / "scenario.yaml").read_text().replace("plugins/figures.py", "other.py")
            ),
        ),
    }
    for change in changes.values():
        change()
        said = emulate("report", "lab")
        assert said.code == 1 and "emulate report --trust" in said.err, said.err
        assert not (lab / "ran").exists() and not (run / "report.html").exists()
    assert emulate("report", "lab", "--trust").code == 0
    assert (lab / "ran").exists()


@pytest.mark.slow
def test_a_dead_runs_plugins_are_compared_before_its_server_is_made_again(
    emulate: Emulate, lab: Path
) -> None:
    run = _played(emulate, lab)
    (run / "summary.json").unlink()
    (run / "plugins" / "figures.py").write_text(EVIL)
    for command in (("report",), ("export", "--format", "csv"), ("compare",)):
        said = emulate(*command, "lab")
        assert said.code == 1 and "has changed: its SHA-256" in said.err
        assert not (lab / "ran").exists()


DIED = ("server: {durability: update}\n", "server/durable")
FAULT = "faults: [{kind: ./evil.py:X, every: {fixed: 10s}, lasts: 1s}]\n"
NAMED = {
    "data": ("dataset: digits", "dataset: ./evil.py:load"),
    "data with keys": ("dataset: digits", "dataset: {file: ./evil.py:load}"),
    "model": ("model: digits-mlp", "model: ./evil.py:build"),
    "codec": ("codec: dense", "codec: ./evil.py:Half"),
    "codec of any letters": ("codec: dense", "codec: ./evil.py:größe"),
    "codec in escapes": ("codec: dense", 'codec: "./evil.p\\u0079:Half"'),
    "fault of a profile": ("count: 2}", "count: 2, failures: [./fault.yaml]}"),
    "figure in escapes": ("name: lab", 'name: lab\nreport: {figures: ["./evil.p\\u0079:load"]}'),
    "figure of any letters": ("name: lab", "name: lab\nreport: {figures: [./evil.py:größe]}"),
}
"""Ways in which a run's scenario names a file that the run did not keep."""


def _strange(lab: Path, change: tuple[str, str], more: str = "") -> Path:
    """Make the folder of a run that has ended, with a scenario that names a file of a stranger."""
    run = lab / "runs" / "lab" / "20260101T000000Z-abc123"
    run.mkdir(parents=True)
    assert change[0] in LAB
    (run / "scenario.yaml").write_text(LAB.replace(*change) + more)
    (run / "fault.yaml").write_text(FAULT)
    (run / "evil.py").write_text(EVIL)
    (run / "manifest.json").write_text('{"id": "abc123", "scenario": "lab", "runtime": "docker"}')
    (run / "summary.json").write_text('{"outcome": "success"}')
    (run / "run.jsonl").write_text("")
    return run


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("change", NAMED.values(), ids=NAMED)
def test_no_command_runs_a_file_that_a_run_did_not_keep(
    emulate: Emulate, lab: Path, change: tuple[str, str]
) -> None:
    (lab / "evil.py").unlink()
    run = _strange(lab, change)
    said = emulate("export", "abc123", "--format", "keras")
    assert said.code == 1 and "evil.py is not among the files that the run kept" in said.err
    if "report" in change[1]:
        said = emulate("report", "abc123")
        assert said.code == 1 and "evil.py is not among the files" in said.err, said.err
    # and of a run that died, whose server is made again
    (run / "scenario.yaml").write_text((run / "scenario.yaml").read_text() + DIED[0])
    (run / DIED[1]).mkdir(parents=True)
    (run / "summary.json").unlink()
    (run / "run.jsonl").rename(run / "server" / "run.jsonl")
    for command in (("report",), ("export", "--format", "csv"), ("compare",)):
        said = emulate(*command, "abc123")
        assert said.code == 1 and "evil.py is not among the files" in said.err, said.err
    assert not (lab / "ran").exists()


@pytest.mark.usefixtures("data")
def test_a_person_may_trust_the_files_of_a_run(emulate: Emulate, lab: Path) -> None:
    (lab / "evil.py").unlink()
    _strange(lab, NAMED["codec"])
    emulate("export", "abc123", "--format", "keras", "--trust")
    assert (lab / "ran").exists()


def test_a_function_that_returned_the_data_of_a_run_is_known_by_its_copy(lab: Path) -> None:
    run = _strange(lab, ("dataset: digits", f"dataset: {{file: {lab}/evil.py:load}}"))
    digest = sha256(EVIL.encode()).hexdigest()
    kept = {"plugins": [{"file": "plugins/evil.py", "sha256": digest}]}
    (run / "manifest.json").write_text(json.dumps(kept))
    (run / "plugins").mkdir()
    (run / "evil.py").rename(run / "plugins" / "evil.py")
    assert changed_code(run, figures_only=False) == []
    (lab / "evil.py").write_text(EVIL + "\n")
    (said,) = changed_code(run, figures_only=False)
    assert said == f"{lab}/evil.py is not among the files that the run kept"
    (lab / "evil.py").unlink()
    assert changed_code(run, figures_only=False) == []


@pytest.mark.usefixtures("data")
def test_a_state_of_a_server_without_durability_is_told_in_words(
    emulate: Emulate, lab: Path
) -> None:
    run = _strange(lab, ("name: lab", "name: lab"))
    (run / DIED[1]).mkdir(parents=True)
    (run / "summary.json").unlink()
    (run / "run.jsonl").rename(run / "server" / "run.jsonl")
    said = emulate("report", "abc123")
    assert "the server's state gives none: its scenario has no server.durability" in said.err


@pytest.mark.parametrize("page", PAGES)
def test_the_pages_say_which_commands_run_files_of_others(page: str) -> None:
    text = " ".join((ROOT / page).read_text().split())
    assert "run the Python files that" in text or "runs the Python files that" in text
    assert "--no-code" in text
