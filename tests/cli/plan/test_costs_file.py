"""Costs files of `emulate schedule`: read exactly, and all mistakes told at once."""

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.cli.plan.costs_file import parse_costs, read_costs
from emulator.errors import ScenarioError
from emulator.schedules import LayerCosts

COSTS: dict[str, Any] = {"setup": 2, "pull": [1], "forward": [3], "backward": [4], "push": [5]}


def mistakes(text: str) -> list[str]:
    with pytest.raises(ScenarioError) as error:
        parse_costs(text, "c.json")
    return str(error.value).splitlines()


def changed(**keys: Any) -> str:
    return json.dumps({**COSTS, **keys})


def test_numbers_are_decimals_and_texts_are_fractions() -> None:
    text = (
        '{"setup": 0.1, "pull": [2.123456789012345678901, "7/3", 1e-3, "0.5"],'
        ' "forward": [0, 1, 2, 3], "backward": [-0, 1, 2, 3], "push": [1E2, 1, 2, 3]}'
    )
    costs = parse_costs(text, "c.json")
    assert costs.pull_setup == costs.push_setup == Fraction(1, 10)
    assert costs.pull == (
        Fraction(2123456789012345678901, 10**21),
        Fraction(7, 3),
        Fraction(1, 1000),
        Fraction(1, 2),
    )
    assert costs.backward[0] == 0
    assert costs.push[0] == 100
    assert all(isinstance(time, Fraction) for time in (*costs.pull, *costs.forward))


def test_the_set_up_may_differ_by_direction() -> None:
    costs = parse_costs(changed(setup={"pull": 1, "push": "1/3"}), "c.json")
    assert (costs.pull_setup, costs.push_setup) == (1, Fraction(1, 3))


SECONDS = 'write seconds from 0 up, as 2, 2.5 or "7/3"'


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"forward": [True]}, f"forward[0]: true is not a number: {SECONDS}"),
        ({"forward": [None]}, f"forward[0]: null is not a number: {SECONDS}"),
        ({"forward": [[1]]}, f"forward[0]: a list is not a number: {SECONDS}"),
        ({"forward": [-1]}, f"forward[0]: -1 is below zero: {SECONDS}"),
        ({"forward": ["-1/3"]}, f"forward[0]: '-1/3' is below zero: {SECONDS}"),
        ({"forward": ["1/0"]}, f"forward[0]: '1/0' divides by zero: {SECONDS}"),
        ({"forward": ["1s"]}, f"forward[0]: '1s' is not a number of seconds: {SECONDS}"),
        ({"forward": ["١"]}, f"forward[0]: '١' is not a number of seconds: {SECONDS}"),
        ({"forward": [float("nan")]}, f"forward[0]: NaN is not a number of seconds: {SECONDS}"),
        (
            {"forward": [float("inf")]},
            f"forward[0]: Infinity is not a number of seconds: {SECONDS}",
        ),
        ({"forward": [1e300]}, "forward[0]: 1e+300 is above 9.0072e+09 seconds"),
        ({"forward": ["1" * 401]}, "characters: 400 are enough for any time"),
        ({"forward": []}, "forward: is empty: give a time for each layer"),
        ({"forward": 3}, "forward: 3 is not a list of times"),
        (
            {"forward": [1, 2]},
            "pull, forward, backward, push: differ in length (pull 1, forward 2, backward 1, "
            "push 1): give each layer one time in each",
        ),
        ({"setup": "x"}, f"setup: 'x' is not a number of seconds: {SECONDS}"),
        (
            {"setup": {"pull": 1, "up": 2}},
            'setup: has the keys pull, up: write one number, or {"pu',
        ),
        ({"setup": {"a\n": 1}}, "setup: has the keys 'a\\n': write one number"),
        ({"a\n": []}, "'a\\n': no such key: there are"),
        ({"bakward": []}, "bakward: no such key (did you mean 'backward'?)"),
        ({"x": []}, "x: no such key: there are setup, pull, forward, backward, push"),
    ],
)
def test_a_mistake_names_the_file_the_key_and_the_remedy(
    change: dict[str, Any], message: str
) -> None:
    (line,) = mistakes(changed(**change))
    assert line.startswith("c.json: ")
    assert message in line


def test_all_mistakes_are_told_at_once() -> None:
    text = '{"setup": -1, "pull": [1, "x"], "push": [1], "push": [2], "forward": []}'
    assert mistakes(text) == [
        "c.json: push: is written twice",
        f"c.json: setup: -1 is below zero: {SECONDS}",
        f"c.json: pull[1]: 'x' is not a number of seconds: {SECONDS}",
        "c.json: forward: is empty: give a time for each layer",
        "c.json: backward: is missing: a list with a time for each layer",
        "c.json: pull, push: differ in length (pull 2, push 1): give each layer one time in each",
    ]


@pytest.mark.parametrize("key", COSTS)
def test_every_key_is_required(key: str) -> None:
    (line,) = mistakes(json.dumps({name: value for name, value in COSTS.items() if name != key}))
    assert line.startswith(f"c.json: {key}: is missing")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"\xff", "is not UTF-8 text (byte 0)"),
        (b"", "1: this is not JSON: Expecting value"),
        (b"{\n3: 1}", "2: this is not JSON: Expecting property name enclosed in double quotes"),
        (b"[]", "costs are a mapping with the keys setup, pull, forward, backward, push"),
        (b"[" * 100_000, "is nested too deeply"),
    ],
)
def test_a_file_without_costs_is_refused(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    file = tmp_path / "c.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ScenarioError, match=re.escape(f"{file}:") + " ?" + re.escape(message)):
        read_costs(file)


NUMBERS = st.integers() | st.floats() | st.fractions().map(str)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(), inside, max_size=3),
    max_leaves=5,
)


# a busy host is slow to draw the first texts
@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from([*COSTS, "other"]), JSON | st.lists(NUMBERS, max_size=2)))
def test_any_file_has_costs_or_mistakes(data: dict[str, Any]) -> None:
    try:
        assert isinstance(parse_costs(json.dumps({**COSTS, **data}), "c.json"), LayerCosts)
    except ScenarioError as error:
        assert error.mistakes
        assert all(line.startswith("c.json: ") for line in str(error).splitlines())
