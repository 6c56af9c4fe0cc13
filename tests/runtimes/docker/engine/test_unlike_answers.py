"""Answers that no engine gives are found, and answers that lack something."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.runtimes.docker.engine.engine_answers import lacking, unlike


def answering(networks: Any) -> SimpleNamespace:
    return SimpleNamespace(api=SimpleNamespace(networks=lambda filters: networks))


WHOLE = {"Id": "1", "Name": "wan", "Labels": {"emulate.run": "a"}}


@pytest.mark.parametrize(
    ("networks", "strange", "lost"),
    [
        ([WHOLE], [], []),
        ([{"Id": "1"}], [], ["networks[].Labels", "networks[].Name"]),
        ([{**WHOLE, "Names": []}], ["networks[].Names"], []),
        ([{**WHOLE, "Id": 1}], ["networks[].Id is 1"], ["networks[].Id is 1"]),
        ([{**WHOLE, "Labels": {"a": None}}], *[["networks[].Labels.a is None"]] * 2),
        ([], [], ["networks is empty: nothing is known of its items"]),
        (None, [], ["networks is None"]),
    ],
)
def test_differences_are_named_by_their_place(
    networks: Any, strange: list[str], lost: list[str]
) -> None:
    assert unlike(answering(networks), "networks") == strange
    assert lacking(answering(networks), "networks") == lost
