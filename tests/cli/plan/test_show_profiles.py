"""`emulate profiles`: a line each, and a profile with a sample of its faults."""

from pathlib import Path

import pytest

from emulator.scenario.reading.profile_files import profile_files, sample
from tests.analysis.drawn_figures import kept, legend
from tests.fakes.small_scenario import SCENARIOS
from tests.fakes.typed_commands import Emulate

FAILURES = list(profile_files(SCENARIOS, "failures"))


@pytest.mark.slow
def test_all_kinds_are_listed_with_a_line_each(emulate: Emulate) -> None:
    result = emulate("profiles")
    assert (result.code, result.err) == (0, "")
    for words in ("raspberry-pi-4  One core of a Raspberry Pi 4", "fios", "flaky-home", "vgg-19"):
        assert words in result.out, words


def test_one_kind_is_listed_for_scripts(emulate: Emulate) -> None:
    listed = emulate("profiles", "failures", "--json").json
    assert listed.keys() == {"failures"}
    assert len(listed["failures"]) >= 14
    for profile in listed["failures"]:
        assert profile.keys() == {"kind", "name", "description", "source", "file"}
        assert profile["description"] and profile["source"]
    assert "flaky-home" not in emulate("profiles", "devices").out


@pytest.mark.slow
def test_a_failure_profile_is_shown_with_a_sample(
    emulate: Emulate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = emulate("profiles", "flaky-home", "--until", "20min")
    assert (result.code, result.err) == (0, "")
    for words in (
        "A home with a power failure now and then",
        "Not measured.",
        "{kind: partition, every: {exponential: 5min}, lasts: {uniform: [2s, 15s]}}",
        "faults of 8 devices before 20min, seed 0",
        "\ndevice-7  ",
        "P partition",
    ):
        assert words in result.out, words
    figures = kept(monkeypatch)
    emulate("profiles", "flaky-home", "--seed", "3", "--figure", tmp_path / "sample.png")
    devices, _ = figures["sample.png"].axes
    seeds = [emulate("profiles", "flaky-home", "--json", "--seed", seed).json for seed in "33"]
    assert seeds[0] == seeds[1]
    (shown,) = seeds[0]["profiles"]
    assert shown["sample"]["seed"] == 3
    assert legend(devices) == [
        f"{kind['fault']}: {kind['faults']} on {kind['devices']} devices"
        for kind in shown["sample"]["kinds"]
    ]
    assert shown["keys"].keys() == {"faults"}


def test_a_profile_of_ones_own_is_shown_by_name_and_by_path(
    emulate: Emulate, tmp_path: Path
) -> None:
    file = tmp_path / "profiles" / "failures" / "mine.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("description: Mine.\nfaults: [{kind: crash, per_iteration: 1%, lasts: 1s}]\n")
    for name in ("mine", "profiles/failures/mine.yaml"):
        result = emulate("profiles", name)
        assert result.code == 0
        assert "100 iterations" in result.out
    file.write_text("faults: [{kind: crahs, every: 1s}]\n")
    wrong = emulate("profiles", "mine")
    assert wrong.code == 2
    assert "mine.yaml:1: faults[0].kind: 'crahs' (did you mean 'crash'?) is not" in wrong.err


def test_a_link_has_no_sample(emulate: Emulate) -> None:
    result = emulate("profiles", "fios")
    assert "{rate: 5mbit, delay: 1ms}" in result.out
    assert "faults" not in result.out
    assert "no failure profile" in emulate("profiles", "fios", "--until", "1s").err


def test_an_unknown_name_is_refused_with_the_nearest(emulate: Emulate) -> None:
    result = emulate("profiles", "flakyhome")
    assert result.code == 2
    assert "'flakyhome' is no profile (did you mean 'flaky-home'?)" in result.err


@pytest.mark.parametrize("profile", FAILURES, ids=lambda profile: profile.name)
def test_each_failure_profile_has_a_sample(profile: object) -> None:
    plan = sample(profile, seed=1)  # type: ignore[arg-type]
    assert plan.faults or plan.expected or plan.batteries
    assert all(fault.at < plan.end for fault in plan.faults)
