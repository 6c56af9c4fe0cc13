"""The JSON schema of a scenario file, for completion and checks in editors."""

import ast
import inspect
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any

from ...faults import FAULTS, Aimed, Recurring, Scheduled
from ...faults.schedule import DATES, is_episodic
from ..algorithms import ALGORITHMS
from ..model import Scenario


@cache
def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a scenario file.

    An editor finds a saved copy by a first line in the scenario file like
    `# yaml-language-server: $schema=scenario.schema.json`.
    """
    whole = Scenario.model_json_schema()
    for part in list(_objects(whole)):
        _tidy(part)
    _unwrap(whole)
    _allow_names(whole["$defs"]["TrainingSection"])
    stop = whole["$defs"]["StopSection"]
    stop["anyOf"] = [{"required": [key]} for key in stop["properties"]]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **whole}


def _allow_names(training: dict[str, Any]) -> None:
    """Add the key `algorithm` to the schema of the section `training`.

    The reader replaces this key before pydantic sees the data, so pydantic does not know it.
    """
    training["properties"]["algorithm"] = {
        "description": (
            "Algorithm of a paper, by name. It stands for codec, modulation, synchronization and "
            "error_feedback; give either `algorithm` or `codec`."
        ),
        "oneOf": [
            {"const": name, "description": f"{algorithm.about} ({algorithm.paper})"}
            for name, algorithm in ALGORITHMS.items()
        ],
    }
    training["required"].remove("codec")
    training["oneOf"] = [{"required": ["algorithm"]}, {"required": ["codec"]}]


def _objects(node: Any) -> Iterator[dict[str, Any]]:
    """Yield the schemas of all mappings with known keys inside `node`, at any depth."""
    if isinstance(node, dict) and "properties" in node:
        yield node
    for child in _children(node):
        yield from _objects(child)


def _unwrap(node: Any) -> None:
    """Replace the line breaks inside the paragraphs of all descriptions in `node` by spaces."""
    if isinstance(node, dict) and isinstance(node.get("description"), str):
        node["description"] = re.sub(r"(?<!\n)\n(?!\n)", " ", node["description"])
    for child in _children(node):
        _unwrap(child)


def _children(node: Any) -> Iterable[Any]:
    """Return the values of a mapping, the items of a list, or nothing."""
    if isinstance(node, dict):
        return node.values()
    return node if isinstance(node, list) else ()


def _tidy(part: dict[str, Any]) -> None:
    """Require `kind` where the schema has it, drop the keys' titles, describe faults' keys."""
    if "const" in part["properties"].get("kind", {}):
        part["required"] = ["kind", *part.get("required", ())]
    for name, key in part["properties"].items():
        key.pop("title", None)
        if name == "trace":  # a name of a file, which `trace_files` replaces by the contents
            key["anyOf"] = [{"type": "string"}, {at: key.pop(at) for at in ("type", "items")}]
    for schedule in (Aimed, Recurring):
        if part["title"].startswith(schedule.__name__):
            for cls in (Scheduled, schedule, FAULTS[part["properties"]["kind"]["const"]]):
                _describe(part, cls)
            _require(part, schedule)


def _require(part: dict[str, Any], schedule: type[Scheduled]) -> None:
    """Add required alternatives to the schema of a fault: keys for times, and keys for targets."""
    kind = FAULTS[part["properties"]["kind"]["const"]]
    refused = ["per_iteration"] if is_episodic(kind) else []
    if getattr(kind, "by_itself", False):
        refused += [key for key in DATES if key not in refused]
    for key in refused:
        flag = part["properties"].pop(key).get("type") == "boolean"
        if flag:  # a resolved scenario spells out that it is not set
            part["properties"][key] = {"enum": [False]}
    if not getattr(kind, "always", False):
        times = [key for key in ("at", "every", "per_iteration") if key in part["properties"]]
        part["oneOf"] = [{"required": [key]} for key in times]
    if schedule is Aimed:
        part["anyOf"] = [{"required": [key]} for key in ("nodes", "count", "share")]


def _describe(part: dict[str, Any], cls: type) -> None:
    """Describe the keys of `part` by the docstrings of the fields of `cls`.

    pydantic does this for a class with source code, and the class of a fault is made by
    `faults.scheduled` without any.
    """
    (body,) = ast.parse(inspect.getsource(cls)).body
    assert isinstance(body, ast.ClassDef)
    for field, text in pairwise(body.body):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            assert isinstance(field.target, ast.Name)
            if field.target.id in part["properties"]:  # a class variable is no key
                part["properties"][field.target.id]["description"] = ast.literal_eval(text.value)
