"""Virtual time, checks and analysis do without Linux and without TensorFlow: both hidden here."""

import json
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.fakes.installing.other_platforms import LINUX, TENSORFLOW, Elsewhere, digits
from tests.layers import ROOT

SCENARIO = """
# Does it play on a machine that is not Linux?
name: anywhere
training: {dataset: digits, model: digits-mlp, algorithm: adacomp}
evaluate: {every: 100}
stop: {updates: 300}
virtual: {learner: numpy, step: 20ms, boot: 400ms}
devices:
  - {name: home, count: 4, profile: raspberry-pi-4, link: dsl}
faults:
  - {kind: crash, nodes: [home-1], at: 2s, lasts: 1s}
"""


@pytest.fixture
def elsewhere(tmp_path: Path) -> Elsewhere:
    """A machine with the digits, and with neither Linux's files nor TensorFlow."""
    digits()
    place = Elsewhere(tmp_path, LINUX, TENSORFLOW)
    place.bring("data", "digits")
    (tmp_path / "anywhere.yaml").write_text(SCENARIO)
    return place


# -- what is installed where

MACHINES = {
    ("linux", "x86_64"): "tensorflow-cpu",
    ("win32", "AMD64"): "tensorflow-cpu",
    ("linux", "aarch64"): "tensorflow",
    ("darwin", "arm64"): "tensorflow",
    ("darwin", "x86_64"): "tensorflow",
}
"""The package that has wheels, by the files of release 2.21.0 of both in the package index; for
macOS on Intel, `tensorflow` up to 2.16.2."""


@pytest.mark.parametrize("machine", MACHINES, ids="-".join)
def test_each_platform_gets_the_tensorflow_that_has_a_wheel_for_it(
    machine: tuple[str, str],
) -> None:
    content = tomllib.loads((ROOT / "pyproject.toml").read_text())
    platform = dict(zip(("sys_platform", "platform_machine"), machine, strict=True))
    needed = [
        canonicalize_name(requirement.name)
        for requirement in map(Requirement, content["project"]["dependencies"])
        if requirement.marker is None or requirement.marker.evaluate(platform)
    ]
    assert [name for name in needed if name.startswith("tensorflow")] == [MACHINES[machine]]


# -- commands


@pytest.mark.slow
def test_a_check_needs_no_linux(elsewhere: Elsewhere) -> None:
    done = elsewhere.emulate("check", "anywhere.yaml", "--on", "virtual", "--json")
    assert done.returncode == 0, done.stderr
    host = json.loads(done.stdout)["host"]
    assert host["cores"] >= 1
    assert host["memory"] >= host["available"] > 1 << 28


@pytest.mark.slow
def test_the_doctor_says_what_such_a_machine_can_do(elsewhere: Elsewhere) -> None:
    done = elsewhere.emulate("doctor")
    assert "ok   host" in done.stdout
    assert "free" not in done.stdout.splitlines()[0]
    assert "MISS tensorflow not installed" in done.stdout
    assert "note engine     containers need Linux, and this is Darwin" in done.stdout


@pytest.mark.slow
def test_virtual_time_and_its_runs_need_neither_linux_nor_tensorflow(elsewhere: Elsewhere) -> None:
    done = elsewhere.emulate("run", "anywhere.yaml", "--on", "virtual", "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["outcome"], summary["updates"]) == ("success", 300)
    assert summary["final_accuracy"] > 0.5
    folder = Path(summary["run"])
    assert (folder / "report.html").is_file()
    assert json.loads((folder / "manifest.json").read_bytes())["versions"]["tensorflow"] is None
    # nor do the commands on runs
    compared = elsewhere.emulate("compare", "anywhere", str(folder), "--out", "compared")
    assert compared.returncode == 0, compared.stderr
    assert elsewhere.emulate("list").returncode == 0


@pytest.mark.slow
def test_points_are_swept_without_linux(elsewhere: Elsewhere) -> None:
    done = elsewhere.emulate("sweep", "anywhere.yaml", "--seeds", "2", "--set", "stop.updates=20")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_containers_are_refused_in_a_sentence(elsewhere: Elsewhere) -> None:
    done = elsewhere.emulate("run", "anywhere.yaml")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "emulate: containers need Linux, and this is Darwin: play the scenario with --on virtual"
    )


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["numpy", pytest.param("none", marks=pytest.mark.slow)])
def test_a_step_cannot_be_measured_without_tensorflow(elsewhere: Elsewhere, learner: str) -> None:
    words = ("run", "anywhere.yaml", "--on", "virtual", "--set", f"virtual.learner={learner}")
    done = elsewhere.emulate(*words, "--set", "virtual.step=null")
    assert done.returncode == 1
    assert "TensorFlow is not installed: pip install tensorflow" in done.stderr
    assert "virtual.step and virtual.boot" in done.stderr


@pytest.mark.tensorflow
@pytest.mark.thorough
def test_a_step_is_measured_without_linux(tmp_path: Path) -> None:
    place = Elsewhere(tmp_path, LINUX)
    done = place.emulate("calibrate", "--model", "digits-mlp", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert 1e-4 < result["step"]["lognormal"][0] < 0.1 < result["boot"]["fixed"] < 20
