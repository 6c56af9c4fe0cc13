"""As much of the JSON Schema standard as our schema uses."""

import math
import re
from collections.abc import Iterator
from typing import Any

from emulator.scenario import schema

TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def accepts(part: dict[str, Any], value: Any) -> bool:
    """Whether a JSON schema accepts the value."""
    return all(check(part, value) for check in (_here, _mapping, _sequence, _unions))


def _here(part: dict[str, Any], value: Any) -> bool:
    if "$ref" in part and not accepts(schema()["$defs"][part["$ref"].split("/")[-1]], value):
        return False
    if "type" in part and (
        not isinstance(value, TYPES[part["type"]])
        or (isinstance(value, bool) and part["type"] != "boolean")
    ):
        return False
    return (
        value == part.get("const", value)
        and value in part.get("enum", [value])
        and ("pattern" not in part or re.search(part["pattern"], value) is not None)
        and ("minimum" not in part or value >= part["minimum"])
        and ("maximum" not in part or value <= part["maximum"])
        and ("exclusiveMinimum" not in part or value > part["exclusiveMinimum"])
    )


def _mapping(part: dict[str, Any], value: Any) -> bool:
    if not isinstance(value, dict):
        return True
    known = part.get("properties", {})
    return (
        all(key in value for key in part.get("required", ()))
        and (part.get("additionalProperties", True) or set(value) <= set(known))
        and all(accepts(known[key], item) for key, item in value.items() if key in known)
    )


def _sequence(part: dict[str, Any], value: Any) -> bool:
    if not isinstance(value, list):
        return True
    first = part.get("prefixItems", [])
    return (
        part.get("minItems", 0) <= len(value) <= part.get("maxItems", math.inf)
        and all(map(accepts, first, value))
        and all(accepts(part.get("items", {}), item) for item in value[len(first) :])
    )


def _unions(part: dict[str, Any], value: Any) -> bool:
    matching = [accepts(item, value) for item in part.get("oneOf", ())]
    some = [accepts(item, value) for item in part.get("anyOf", ())]
    return ("oneOf" not in part or sum(matching) == 1) and ("anyOf" not in part or any(some))


def mappings(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for item in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from mappings(item)
