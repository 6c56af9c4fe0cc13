"""Splits by owner: from an array, and from a text file with an owner in each line."""

from pathlib import Path

import numpy as np
import pytest

from emulator.errors import ScenarioError
from emulator.runs.data_split import split_data

from .given import digits, mistakes, scenario


def test_each_device_has_the_examples_of_its_owners(tmp_path: Path) -> None:
    owners = np.arange(40) % 4
    np.savez(tmp_path / "own.npz", **digits(writers=owners))
    played = scenario(
        tmp_path, "{file: ./own.npz, owners: writers}", split="{kind: owners}", count=2
    )
    parts = split_data(played).parts
    assert [len(set(owners[own])) for own in parts.values()] == [2, 2]


@pytest.mark.parametrize("held_out", [False, True])
def test_a_file_names_the_owner_of_each_example(tmp_path: Path, held_out: bool) -> None:
    arrays = digits(x_test=None, y_test=None) if held_out else digits()
    np.savez(tmp_path / "own.npz", **arrays)
    (tmp_path / "who.txt").write_text("d-0\n" * 15 + "d-1\n" * 25)
    split = split_data(scenario(tmp_path, "./own.npz", split="{kind: owners, file: ./who.txt}"))
    rows = np.arange(40) if split.data.rows is None else split.data.rows
    assert {name: set(rows[own] < 15) for name, own in split.parts.items()} == {
        "d-0": {True},
        "d-1": {False},
    }


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("ann\n" * 39, "who.txt has 39 lines, and own.npz 40 examples"),
        ("ann\n" * 12 + "\n" + "bob\n" * 27, "who.txt:13: is empty: an owner was expected"),
        ("ann\n" * 40, "1 owners have the examples, and there are 2 devices"),
        ("ann\n" * 35 + "bob\n" * 5, "(5) without a batch of 10 examples"),
    ],
)
def test_wrong_owners_are_refused_before_a_run(tmp_path: Path, lines: str, expected: str) -> None:
    np.savez(tmp_path / "own.npz", **digits())
    (tmp_path / "who.txt").write_text(lines)
    played = scenario(tmp_path, "./own.npz", split="{kind: owners, file: ./who.txt}")
    with pytest.raises(ScenarioError) as refused:
        split_data(played)
    assert "training.split: " in str(refused.value) and expected in str(refused.value)


def test_a_missing_file_of_owners_is_a_mistake_of_the_scenario(tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", **digits())
    (found,) = mistakes(tmp_path, "./own.npz", split="{kind: owners, file: ./who.txt}")
    assert found == "scenario.yaml:2: training.split.file: there is no file who.txt"
