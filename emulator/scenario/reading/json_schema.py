"""The JSON schema of a scenario file as people write it, for editors that complete and check."""

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

from ...faults import Aimed, Recurring
from ..algorithms import ALGORITHMS
from ..model import Scenario


@cache
def schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12). An editor finds it by a first line such as
    `# yaml-language-server: $schema=scenario.schema.json`."""
    whole = Scenario.model_json_schema()
    for part in list(_objects(whole)):
        _tidy(part)
    _allow_names(whole["$defs"]["TrainingSection"])
    some = [{"required": [key]} for key in whole["$defs"]["StopSection"]["properties"]]
    whole["$defs"]["StopSection"]["anyOf"] = some
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **whole}


def _allow_names(training: dict[str, Any]) -> None:
    """`algorithm`, which stands for a codec and more."""
    training["properties"]["algorithm"] = {
        "description": "What stands for codec, modulation, synchronization and error_feedback.",
        "oneOf": [
            {"const": name, "description": f"{algorithm.about} ({algorithm.paper})"}
            for name, algorithm in ALGORITHMS.items()
        ],
    }
    training["required"].remove("codec")
    training["oneOf"] = [{"required": ["algorithm"]}, {"required": ["codec"]}]


def _objects(node: Any) -> Iterator[dict[str, Any]]:
    """Every description of a mapping with known keys, however deep."""
    if isinstance(node, dict) and "properties" in node:
        yield node
    inside = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for one in inside:
        yield from _objects(one)


def _tidy(part: dict[str, Any]) -> None:
    if "const" in part["properties"].get("kind", {}):
        part["required"] = ["kind", *part.get("required", ())]
    for key in part["properties"].values():
        key.pop("title", None)
    for schedule in (Aimed, Recurring):
        if part["title"].startswith(schedule.__name__):
            _describe(part, schedule)


def _describe(part: dict[str, Any], cls: type) -> None:
    """Give the keys the docstrings of the class's fields.

    pydantic does this itself, except for a class that is joined from others.
    """
    (body,) = ast.parse(inspect.getsource(cls)).body
    assert isinstance(body, ast.ClassDef)
    for field, text in pairwise(body.body):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            assert isinstance(field.target, ast.Name)
            part["properties"][field.target.id]["description"] = ast.literal_eval(text.value)
