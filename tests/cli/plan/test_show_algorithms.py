"""`emulate algorithms`: what it lists can be written into a scenario."""

import json
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from emulator.cli.entry import commands
from emulator.scenario import loads
from emulator.scenario.algorithms import ALGORITHMS

SCENARIO = """
name: pair
training: {dataset: digits, model: digits-mlp}
stop: {updates: 100}
devices: [{name: near, count: 3}]
"""


def said(*words: str) -> str:
    result = CliRunner().invoke(commands, ["algorithms", *words], catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_a_line_the_paper_and_what_it_stands_for() -> None:
    lines = said("signsgd", "adacomp").splitlines()
    assert lines[0] == (
        "signsgd  one bit for each entry; the server takes the majority of the signs "
        "(Bernstein et al., 2018 (arXiv 1802.04434))"
    )
    assert lines[1:7] == [
        "    codec: {kind: signsgd}",
        "    modulation: {kind: constant}",
        "    synchronization: {kind: barrier, quorum: 100%, patience: 1min}",
        "    error_feedback: false",
        "    optimizer: {kind: sign}",
        lines[6],
    ]
    assert lines[6].startswith("adacomp  the largest 1 %")
    assert [line.split(" ")[0] for line in said().splitlines() if line[0] != " "] == [*ALGORITHMS]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_expansion_means_the_same_as_the_name(name: str) -> None:
    result: dict[str, Any] = json.loads(said("--json"))[name]
    text = yaml.safe_load(SCENARIO)
    text["training"] |= result["training"]
    spelled_out = loads(yaml.safe_dump(text))
    assert spelled_out == loads(SCENARIO, (f"training.algorithm={name}",))
    assert spelled_out.training.described == name
    shown = "\n".join(said(name).splitlines()[1:])
    assert yaml.safe_load(shown) == result["training"]


def test_an_unknown_name() -> None:
    result = CliRunner().invoke(commands, ["algorithms", "adacom"])
    assert result.exit_code != 0
    assert "'adacom' is not asgd, ada-sgd" in result.output
