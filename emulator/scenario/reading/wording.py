"""What is wrong, in words: what was found, what was expected, and what was probably meant."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ...did_you_mean import suggestion
from .document import Address, Document

_LONGEST = 60


def choice(word: object, known: Iterable[str]) -> str:
    names = list(known)
    return f"{found(word)} is not {' or '.join(names)}{suggestion(word, names)}"


def found(value: object) -> str:
    """The value as the file has it, cut short."""
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case _:
            text = repr(value)
            return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def explain(document: Document, errors: Iterable[Any], schema: dict[str, Any]) -> None:
    """Turn pydantic's errors into the document's mistakes."""
    for error in errors:
        address = _address(document.data, error["loc"], error["type"])
        if not document.doubts(address):
            document.complain(address, _message(error, address, schema))


def _address(data: Any, loc: tuple[str | int, ...], kind: str) -> Address:
    """Where the file has it: pydantic also names the member of a union that it tried."""
    address: list[str | int] = []
    for step in loc:
        inside = isinstance(data, dict) and step in data
        if inside or (isinstance(data, list) and isinstance(step, int) and step < len(data)):
            address.append(step)
            data = data[step]
    if kind == "missing":
        address.append(loc[-1])
    if kind == "union_tag_invalid" and isinstance(data, dict) and "kind" in data:
        address.append("kind")
    return tuple(address)


def _message(error: Any, address: Address, schema: dict[str, Any]) -> str:
    value, limits = error["input"], error.get("ctx", {})
    match error["type"]:
        case "missing":
            about = _about(schema, error["loc"])
            return f"is missing: {about[:1].lower()}{about[1:]}" if about else "is missing"
        case "extra_forbidden" | "unexpected_keyword_argument":
            known = _keys(schema, error["loc"][:-1])
            hint = suggestion(address[-1], known)
            return f"no such key{hint or ': there are ' + ', '.join(known)}"
        case "union_tag_invalid":
            expected = [tag.strip("'") for tag in limits["expected_tags"].split(", ")]
            return choice(limits["tag"], [tag for tag in expected if tag != "a word"])
        case "literal_error" if value is not None:
            return choice(value, _words(limits))
        case "union_tag_not_found":
            lacks = "without" if isinstance(value, dict) else "is not a mapping with"
            return f"{found(value)} {lacks} a `kind`"
        case "value_error":
            return str(limits["error"])
        case "json_invalid":
            return "has characters that are no text"
        case kind if value is None:
            return f"is empty: it must be {_expected(kind, limits)}"
        case kind:
            return f"{found(value)} is not {_expected(kind, limits)}"


_EXPECTED = {
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "dataclass_type": "a mapping",
    "greater_than": "above {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
    "too_short": "a list of {min_length}",
    "too_long": "a list of {max_length}",
}


def _words(limits: dict[str, Any]) -> list[str]:
    """Return the words of which one was expected."""
    return re.findall(r"'([^']*)'", limits["expected"])


def _expected(kind: str, limits: dict[str, Any]) -> str:
    if kind == "literal_error":
        return " or ".join(_words(limits))
    return _EXPECTED.get(kind, kind.replace("_", " ")).format_map(limits)


# -- the JSON schema knows which keys there are and what they are for --------------------------


def _keys(schema: dict[str, Any], loc: Address) -> list[str]:
    nodes = [node for node in _follow(schema, loc) if "properties" in node]
    return list(dict.fromkeys(key for node in nodes for key in node["properties"]))


def _about(schema: dict[str, Any], loc: Address) -> str:
    nodes = [node for node in _follow(schema, loc[:-1]) if loc[-1] in node.get("properties", {})]
    return str(nodes[0]["properties"][loc[-1]].get("description", "")) if nodes else ""


def _follow(schema: dict[str, Any], loc: Address) -> list[dict[str, Any]]:
    nodes = list(_members(schema, schema))
    for step in loc:
        if isinstance(step, int):
            nodes = [one for node in nodes for one in _members(node.get("items", {}), schema)]
        else:
            nodes = _step(nodes, step, schema)
    return nodes


def _step(nodes: list[dict[str, Any]], step: str, schema: dict[str, Any]) -> list[dict[str, Any]]:
    inside = [node["properties"][step] for node in nodes if step in node.get("properties", {})]
    if inside:
        return [one for node in inside for one in _members(node, schema)]
    # not a key but the member of a union that pydantic tried
    tagged = [n for n in nodes if n.get("properties", {}).get("kind", {}).get("const") == step]
    return tagged or nodes


def _members(node: dict[str, Any], schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The node and all that it may stand for."""
    if "$ref" in node:
        yield from _members(schema["$defs"][node["$ref"].rsplit("/", 1)[-1]], schema)
        return
    yield node
    for one in (*node.get("anyOf", ()), *node.get("oneOf", ()), *node.get("allOf", ())):
        yield from _members(one, schema)
