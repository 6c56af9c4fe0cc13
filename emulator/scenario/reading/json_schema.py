"""The JSON schema of a scenario file, for completion and checks in editors."""

import ast
import inspect
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from ...world.faults import FAMILY, FAULTS, Aimed, Recurring, Scheduled
from ...world.faults.schedule import DATES, is_episodic
from ...world.links.loss_models import file_key
from ..algorithms import ALGORITHMS
from ..model import Scenario


class _Described(GenerateJsonSchema):
    """Writes the docstring of each field into the schema, as the description of the field's key.

    The setting `use_attribute_docstrings` of pydantic gives the same descriptions, but parses the
    source of each class when the class is defined. Every command that reads a scenario would start
    0.15 s later.
    """

    def model_schema(self, schema: Any) -> dict[str, Any]:
        return self._described(super().model_schema(schema), schema["cls"])

    def dataclass_schema(self, schema: Any) -> dict[str, Any]:
        return self._described(super().dataclass_schema(schema), schema["cls"])

    def _described(self, part: dict[str, Any], cls: type) -> dict[str, Any]:
        for base in reversed(cls.__mro__):
            if not base.__module__.startswith("pydantic"):
                for field, text in _field_docstrings(base).items():
                    name = file_key(cls, field)
                    if name in part["properties"]:  # a class variable is no key
                        part["properties"][name]["description"] = text
        return part


@cache
def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a scenario file.

    An editor finds a saved copy by a first line in the scenario file like
    `# yaml-language-server: $schema=scenario.schema.json`.
    """
    whole = Scenario.model_json_schema(schema_generator=_Described)
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
    """Require `kind` where the schema has it, and drop the titles of keys."""
    if "const" in part["properties"].get("kind", {}):
        part["required"] = ["kind", *part.get("required", ())]
    for name, key in part["properties"].items():
        key.pop("title", None)
        # the name of a file, which `trace_files` replaces by the contents
        if name == "trace" and "items" in key:
            key["anyOf"] = [{"type": "string"}, {at: key.pop(at) for at in ("type", "items")}]
        elif name == "trace":  # the path stands for a mapping with the key `file`
            key["anyOf"] = [{"type": "string"}, *key["anyOf"]]
    for schedule in (Aimed, Recurring):
        if part["title"].startswith(schedule.__name__):
            _require(part, schedule)


def _require(part: dict[str, Any], schedule: type[Scheduled]) -> None:
    """Add required alternatives to the schema of a fault: keys for times, and keys for targets."""
    name = part["properties"]["kind"]["const"]
    kind = FAULTS[name] if name in FAULTS else FAMILY.own(name)
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
    if schedule is Aimed and not getattr(kind, "strikes_server", False):
        part["anyOf"] = [{"required": [key]} for key in ("nodes", "count", "share")]


@cache
def _field_docstrings(cls: type) -> dict[str, str]:
    """Return the docstrings of the fields of `cls`, by field, as its source has them."""
    try:
        (body,) = ast.parse(inspect.getsource(cls)).body
    except (OSError, TypeError):  # made by `faults.scheduled`, or built in: without source
        return {}
    assert isinstance(body, ast.ClassDef)
    return {
        field.target.id: inspect.cleandoc(ast.literal_eval(text.value))
        for field, text in pairwise(body.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
    }
