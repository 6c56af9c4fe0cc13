"""Keys of scenarios as `--set` takes them, completed from the installed JSON schema."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

Node: TypeAlias = dict[str, Any]

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")


class Offer(NamedTuple):
    """A continuation of a typed `PATH=VALUE`."""

    text: str
    """The whole text; `.` or `=` at its end says that more must follow."""
    about: str
    """The first sentence of the key's description, or nothing."""


def offers(schema: Node, typed: str) -> Iterator[Offer]:
    """Yield the continuations of `typed` by one key, or by one of the values that a key names.

    Free values, such as times and numbers, have no continuation.
    """
    path, equals, _ = typed.partition("=")
    if equals:
        nodes = [each for node in _at(schema, path) for each in _alternatives(schema, node)]
        texts = [Offer(f"{path}={value}", "") for node in nodes for value in _values(node)]
    else:
        holder = path[: path.rfind(".") + 1]
        texts = [
            offer
            for node in _at(schema, holder.removesuffix("."))
            for name, key in node.get("properties", {}).items()
            for offer in _continuations(schema, f"{holder}{name}", key)
        ]
    unique = {offer.text: offer for offer in texts}
    yield from (offer for text, offer in unique.items() if text.startswith(typed))


def _continuations(schema: Node, path: str, key: Node) -> Iterator[Offer]:
    about = str(key.get("description", "")).split(". ")[0].removesuffix(".")
    nodes = list(_alternatives(schema, key))
    if any("properties" in node for node in nodes):
        yield Offer(f"{path}.", about)
    items = [each for node in nodes for each in _items(schema, node)]
    if any("properties" in node for node in items):
        yield Offer(f"{path}[0].", about)
    if not nodes or any("properties" not in node for node in nodes):
        yield Offer(f"{path}=", about)


def _at(schema: Node, path: str) -> list[Node]:
    """Return the alternatives for the value at `path`; none if the path leads nowhere."""
    nodes = list(_alternatives(schema, schema))
    for match in _STEP.finditer(path):
        if match[1] is None:
            nodes = [each for node in nodes for each in _items(schema, node)]
        else:
            keys = [node.get("properties", {}).get(match[1]) for node in nodes]
            nodes = [each for key in keys if key for each in _alternatives(schema, key)]
    return nodes


def _alternatives(schema: Node, node: Node) -> Iterator[Node]:
    """Yield the schemas that a value of `node` may have.

    A reference is replaced by the schema that it names, a choice by each of its alternatives.
    """
    if "$ref" in node:
        yield from _alternatives(schema, schema["$defs"][node["$ref"].rpartition("/")[2]])
        return
    choices = [choice for word in ("anyOf", "oneOf", "allOf") for choice in node.get(word, ())]
    if "properties" in node or not choices:  # beside properties, choices only require keys
        yield node
        return
    for choice in choices:
        yield from _alternatives(schema, choice)


def _items(schema: Node, node: Node) -> Iterator[Node]:
    items = node.get("items")
    return _alternatives(schema, items) if isinstance(items, dict) else iter(())


def _values(node: Node) -> list[str]:
    if node.get("type") == "boolean":
        return ["true", "false"]
    named = [*node.get("enum", ()), *([node["const"]] if "const" in node else ())]
    return [value for value in named if isinstance(value, str)]
