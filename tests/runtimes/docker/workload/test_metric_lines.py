"""Metrics in the lines that programs print: numbers of JSON objects, and what patterns match."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.runtimes.docker.workload.metric_lines import LONGEST_LINE, MOST_VALUES, MetricLines

LINES = MetricLines({"accuracy": r"acc=([0-9.]+%?)", "loss": r"loss (\S+)"})

CASES = {
    '{"accuracy": 0.5, "round": 3}': {"accuracy": 0.5, "round": 3.0},
    '  {"a": 1, "b": "x", "c": true, "d": null, "e": [1], "f": {"g": 1}} ': {"a": 1.0},
    '{"a": NaN, "b": Infinity, "c": 1e999}': {},
    '{"a": 1': {},
    "[1, 2]": {},
    "round 3 acc=97.5% loss 0.25": {"accuracy": 0.975, "loss": 0.25},
    "acc=0.9 loss nan": {"accuracy": 0.9},
    "acc=1.2.3": {},
    "": {},
}


@pytest.mark.parametrize("line", CASES)
def test_a_line_gives_its_numbers(line: str) -> None:
    assert LINES.values(line) == pytest.approx(CASES[line])


@given(st.text())
def test_any_line_is_text_or_numbers(line: str) -> None:
    assert all(isinstance(value, float) for value in LINES.values(line).values())


@given(st.dictionaries(st.text(max_size=8), st.integers(-(2**40), 2**40), max_size=8))
def test_all_numbers_of_an_object_are_found(values: dict[str, int]) -> None:
    assert MetricLines({}).values(json.dumps(values)) == values


def test_a_line_beyond_all_measure_is_text() -> None:
    many = {str(number): number for number in range(MOST_VALUES + 1)}
    assert LINES.values(json.dumps(many)) == {}
    assert LINES.values(json.dumps({"a": 1, "b": "x" * LONGEST_LINE})) == {}
    assert LINES.values("[" * 5000) == LINES.values('{"a":' * 5000 + "}") == {}
