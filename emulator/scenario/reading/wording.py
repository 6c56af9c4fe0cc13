"""Messages for mistakes in a scenario: the value, the expected ones, and the likely spelling."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ...errors import MisplacedKeysError, shortened, suggestion
from .document import Address, Document


def not_among(word: object, known: Iterable[str]) -> str:
    """Return the message for a `word` outside the names in `known`."""
    names = list(known)
    return f"{quoted(word)}{suggestion(word, names)} is not {' or '.join(names)}"


def neither_name_nor_reference(word: object, known: Iterable[str]) -> str:
    """Return the message for a `word` that is no name in `known`, and no `./file.py:Name`."""
    if isinstance(word, str) and word.endswith((".keras", ".h5", ".hdf5", ".pb", ".tflite")):
        return (
            f"{quoted(word)} is a saved model: write ./models.py:build, a function that returns "
            "it, for example by keras.models.load_model"
        )
    if isinstance(word, str) and ("/" in word or ".py" in word):
        return f"{quoted(word)} names nothing in a file: write path, colon and name, ./file.py:Name"
    message = not_among(word, known)
    return message if "(did you mean" in message else f"{message}, nor ./file.py:Name"


def quoted(value: object) -> str:
    """Return `value` for a message: as in the file, cut after 60 characters."""
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
            return shortened(value)


def explain(document: Document, errors: Iterable[Any], schema: dict[str, Any]) -> None:
    """Add pydantic's `errors` to `document`, except at addresses with a mistake already."""
    for error in errors:
        around = _address(document.data, error["loc"], error["type"])
        if document.has_mistake(around):
            continue
        for address, message in conflicts([error], schema, document.data):
            document.complain(address, message)


def conflicts(
    errors: Iterable[Any], schema: dict[str, Any], data: Any
) -> list[tuple[Address, str]]:
    """Return the keys inside `data` of pydantic's `errors`, each with its message."""
    found = []
    for error in errors:
        address = _address(data, error["loc"], error["type"])
        cause = error.get("ctx", {}).get("error")
        if isinstance(cause, MisplacedKeysError):
            found += [((*address, *_inside(key)), message) for key, message in cause.conflicts]
        else:
            found.append((address, _message(error, address, schema)))
    return found


def _inside(key: str | Address) -> Address:
    """Return the address of `key` in a MisplacedKeysError."""
    return key if isinstance(key, tuple) else (key,) if key else ()


def _address(data: Any, loc: tuple[str | int, ...], kind: str) -> Address:
    """Return the address in the file for pydantic's `loc`, which also names members of unions.

    `kind` is the error's type: for a missing key the address ends in the key, for an unknown
    `kind` in `kind`.
    """
    address: list[str | int] = []
    tagged = False
    for step in loc:
        if not tagged and isinstance(data, dict) and data.get("kind") == step:
            tagged = True  # the member's name, also where a key has the same: `groups`
            continue
        inside = isinstance(data, dict) and step in data
        if inside or (isinstance(data, list) and isinstance(step, int) and step < len(data)):
            address.append(step)
            data, tagged = data[step], False
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
            known, key = _keys(schema, error["loc"][:-1]), str(address[-1])
            meant = _MEANT.get(key.lower().replace("-", "_"), "")
            if meant in known:
                return f"no such key (did you mean {meant!r}?)"
            for name in filter(None, (key, meant)):
                if places := _places(schema, (*address[:-1], name)):
                    return f"no such key here: there is {' or '.join(places)}"
            hint = suggestion(key, known)
            return f"no such key{hint or ': there are ' + ', '.join(known)}"
        case "union_tag_invalid":
            expected = [tag.strip("'") for tag in limits["expected_tags"].split(", ")]
            return not_among(limits["tag"], [tag for tag in expected if tag != "a word"])
        case "literal_error" if value is not None:
            return not_among(value, _words(limits))
        case "union_tag_not_found":
            lacks = "without" if isinstance(value, dict) else "is not a mapping with"
            kinds = _kinds(schema, error["loc"])
            return f"{quoted(value)} {lacks} a `kind`" + (
                f": {' or '.join(kinds)}" if kinds else ""
            )
        case "value_error" | "assertion_error":
            return str(limits["error"])
        case "json_invalid":
            return "has characters that are not valid in text"
        case kind if value is None:
            return f"is empty: it must be {_expected(kind, limits)}"
        case kind:
            return f"{quoted(value)} is not {_expected(kind, limits)}"


_MEANT = {
    "latency": "delay",
    "lag": "delay",
    "rtt": "delay",
    "ping": "delay",
    "bandwidth": "rate",
    "throughput": "rate",
    "speed": "rate",
    "packet_loss": "loss",
    "uplink": "up",
    "upload": "up",
    "downlink": "down",
    "download": "down",
    "batchsize": "batch_size",
    "minibatch": "batch_size",
    "mini_batch": "batch_size",
    "lr": "learning_rate",
    "step_size": "learning_rate",
    "data": "dataset",
    "network": "model",
    "compression": "codec",
    "compressor": "codec",
    "ram": "memory",
    "cores": "cpu",
    "cpus": "cpu",
    "replicas": "count",
    "clients": "devices",
    "workers": "devices",
    "nodes": "devices",
    "random_seed": "seed",
}
"""Keys of other programs, and this program's key for the same."""

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
    """Return the words that pydantic's `limits` of a literal allow."""
    return re.findall(r"'([^']*)'", limits["expected"])


def _expected(kind: str, limits: dict[str, Any]) -> str:
    if kind == "literal_error":
        return " or ".join(_words(limits))
    return _EXPECTED.get(kind, kind.replace("_", " ")).format_map(limits)


# -- known keys and their descriptions, from the JSON schema ------------------------------------


def _keys(schema: dict[str, Any], loc: Address) -> list[str]:
    nodes = [node for node in _follow(schema, loc) if "properties" in node]
    return list(dict.fromkeys(key for node in nodes for key in node["properties"]))


_MOST_PLACES = 3
"""Places of a key, and kinds, that a message names; more of them are no hint."""


def _places(schema: dict[str, Any], address: Address) -> list[str]:
    """Return the full names of keys that are called as the last of `address`, a wrong one.

    For example `training.synchronization.local_rate`. Items of a list stand as `[0]`; a kind
    follows in brackets if only some kinds have the key. Keys beside or below the wrong one hide
    all others, and keys with short names hide keys with much longer ones.
    """
    key, around = str(address[-1]), _generic(address[:-1])
    found: dict[str, list[str]] = {}
    below: list[tuple[str, dict[str, Any], tuple[Any, ...]]] = [("", schema, ())]
    for path, node, above in below:  # grows while it is read: the shortest names come first
        for member in _members(node, schema):
            kind = member.get("properties", {}).get("kind", {}).get("const")
            for name, inside in member.get("properties", {}).items():
                place = f"{path}.{name}".lstrip(".")
                if name == key:
                    found.setdefault(place, []).append(str(kind or ""))
                if id(inside) not in above:  # a mapping may hold others of its kind
                    below.append((place, inside, (*above, id(inside))))
            if isinstance(items := member.get("items"), dict) and id(items) not in above:
                below.append((f"{path}[0]", items, (*above, id(items))))
    # a failure profile inside a device has the keys of `faults` once more
    first = [p for p in found if not any(p != q and p.endswith(f".{q}") for q in found)]
    near = [place for place in first if around and place.startswith(f"{around}.")]
    depths = {place: place.count(".") for place in near or first}
    least = min(depths.values(), default=0)
    for most in (least + 1, least):
        places = [place for place, depth in depths.items() if depth <= most]
        if len(places) <= _MOST_PLACES:
            return [f"{place}{_of_kinds(found[place])}" for place in places]
    return []


def _generic(address: Address) -> str:
    """Return `address` as text, with the first item in place of every item of a list."""
    steps = ("[0]" if isinstance(step, int) else f".{step}" for step in address)
    return "".join(steps).lstrip(".")


def _of_kinds(kinds: Iterable[str]) -> str:
    named = list(dict.fromkeys(kind for kind in kinds if kind))
    return f" (kind: {' or '.join(named)})" if 0 < len(named) <= _MOST_PLACES else ""


def _kinds(schema: dict[str, Any], loc: Address) -> list[str]:
    """Return the kinds among which the value at `loc` is chosen."""
    kinds = [
        node.get("properties", {}).get("kind", {}).get("const") for node in _follow(schema, loc)
    ]
    return list(dict.fromkeys(filter(None, kinds)))


def _about(schema: dict[str, Any], loc: Address) -> str:
    """Return the first sentence of the description of the key at `loc`, without its full stop."""
    nodes = [node for node in _follow(schema, loc[:-1]) if loc[-1] in node.get("properties", {})]
    about = str(nodes[0]["properties"][loc[-1]].get("description", "")) if nodes else ""
    return " ".join(about.split(". ")[0].removesuffix(".").split())


def _follow(schema: dict[str, Any], loc: Address) -> list[dict[str, Any]]:
    """Return every schema that may describe the value at pydantic's `loc`."""
    nodes = list(_members(schema, schema))
    for step in loc:
        if isinstance(step, int):
            nodes = [item for node in nodes for item in _members(node.get("items", {}), schema)]
        else:
            nodes = _step(nodes, step, schema)
    return nodes


def _step(nodes: list[dict[str, Any]], step: str, schema: dict[str, Any]) -> list[dict[str, Any]]:
    tagged = [
        node for node in nodes if node.get("properties", {}).get("kind", {}).get("const") == step
    ]
    if tagged and len(nodes) > 1:
        return tagged  # the tag of the union's member that pydantic tried, not a key of that name
    inside = [node["properties"][step] for node in nodes if step in node.get("properties", {})]
    if inside:
        return [member for node in inside for member in _members(node, schema)]
    return tagged or nodes


def _members(node: dict[str, Any], schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the schema `node` and the members of its unions, references resolved."""
    if "$ref" in node:
        yield from _members(schema["$defs"][node["$ref"].rsplit("/", 1)[-1]], schema)
        return
    yield node
    for member in (*node.get("anyOf", ()), *node.get("oneOf", ()), *node.get("allOf", ())):
        yield from _members(member, schema)
