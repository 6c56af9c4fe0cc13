"""Whatever stands in a file, it is a scenario or a ScenarioError."""

import copy
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from emulator.errors import ScenarioError
from emulator.scenario import load, loads
from tests.fakes.small_scenario import SCENARIOS, WRITTEN, addresses


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"", "a scenario is a mapping"),
        (b"- 1", "a scenario is a mapping"),
        (b"name: \xff", "is not UTF-8 text"),
        (b"[" * 1500, "is nested too deeply"),
        (b'name: "\\ud800"', "has characters that are not valid in text"),
        (b"a: 1\n---\nb: 2", "expected a single document in the stream, but found another"),
    ],
)
def test_a_file_that_is_no_scenario_is_refused(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    file = tmp_path / "x.yaml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ScenarioError, match=re.escape(message)) as error:
        load(file)
    assert str(error.value).startswith(str(file))


@pytest.mark.parametrize("typed", ["lab", "lba.yaml"])
def test_a_file_that_is_missing_may_be_its_neighbour(tmp_path: Path, typed: str) -> None:
    (tmp_path / "lab.yaml").write_text("")
    with pytest.raises(ScenarioError, match=r"No such file or .* \(did you mean 'lab.yaml'\?\)"):
        load(tmp_path / typed)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("1s"),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(), inside, max_size=3),
    max_leaves=4,
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(at=st.sampled_from(list(addresses(WRITTEN))[1:]), value=ANYTHING)
def test_whatever_stands_in_a_file_it_is_a_scenario_or_a_scenario_error(
    at: tuple[Any, ...], value: Any
) -> None:
    data = copy.deepcopy(WRITTEN)
    holder = data
    for step in at[:-1]:
        holder = holder[step]
    holder[at[-1]] = value
    try:
        scenario = loads(json.dumps(data), folder=SCENARIOS)
    except ScenarioError as error:
        assert str(error)
    else:
        assert scenario.nodes


@settings(max_examples=100)
@given(text=st.text(alphabet="ab:-[]{}&*!|>'\"#%,?\n\t 1.e"))
@example("? [a]\n: b")
@example("<<: {name: x}")
@example("? {a: b}: c")
def test_whatever_text_it_is_a_scenario_error(text: str) -> None:
    with pytest.raises(ScenarioError):
        loads(text)


def bomb(levels: int) -> str:
    """Lines of YAML that stand for more than ten times as many values with each level."""
    lines = ["a0: &a0 [x, x]"]
    for level in range(1, levels):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]")
    return "\n".join(lines)


@pytest.mark.slow
def test_aliases_that_multiply_are_refused_at_once(tmp_path: Path) -> None:
    file = tmp_path / "bomb.yaml"
    file.write_text(f"name: bomb\n{bomb(9)}\n")
    began = time.process_time()
    with pytest.raises(ScenarioError) as error:
        load(file)
    assert time.process_time() - began < 1
    assert str(error.value) == (
        f"{file}:7: a5: aliases repeat more than 50,000 values: write fewer, and "
        "`count` for equal devices"
    )


@pytest.mark.slow
def test_aliases_that_multiply_in_a_profile_or_an_override_are_refused(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(bomb(9))
    with pytest.raises(ScenarioError, match=r"own.yaml:6: a5: aliases repeat"):
        loads(json.dumps({**WRITTEN, "server": {"link": "./own.yaml"}}), folder=tmp_path)
    nested = "&a [x, x]"
    for level in "bcdefgh":
        nested = f"&{level} [{', '.join([nested, *[f'*{chr(ord(level) - 1)}'] * 9])}]"
    with pytest.raises(ScenarioError, match=r"--set faults=.*: aliases repeat"):
        loads(json.dumps(WRITTEN), [f"faults={nested}"], SCENARIOS)
