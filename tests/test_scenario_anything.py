"""Whatever stands in a file, it is a scenario or a ScenarioError."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from emulator.errors import ScenarioError
from emulator.scenario import load, loads

from .small_scenario import SCENARIOS, WRITTEN, addresses


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"", "a scenario is a mapping"),
        (b"- 1", "a scenario is a mapping"),
        (b"name: \xff", "is not text in UTF-8"),
        (b"[" * 1500, "is nested too deeply"),
        (b'name: "\\ud800"', "has characters that are no text"),
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


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("1s"),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(), inside, max_size=3),
    max_leaves=4,
)


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
