"""Plugins of users in a scenario: `kind: ./file.py:Class`, or the name of an entry point."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from ..errors import MisplacedKeysError
from ..plugins import Family
from ..plugins.own_class import calling
from ..plugins.python_file import PATTERN
from ..world.verbs import ORDER, Action
from .reading.wording import conflicts

STRICT = ConfigDict(strict=True, extra="forbid")


@dataclass(frozen=True)
class OwnSchemas:
    """JSON schemas of the plugins of users in a family."""

    words: list[str]
    """Names of installed plugins without required keys."""
    file: dict[str, Any]
    """A class in a file, as a word."""
    members: list[dict[str, Any]]
    """Mappings: one for each installed plugin, and one for any class in a file."""


def read_own(value: Any, family: Family, made: Callable[[type], type]) -> Any:
    """Return the plugin of a user that `value` describes: a word or a mapping with a `kind`.

    Raises MisplacedKeysError with a message for each wrong key, and PythonFileError for a class
    that cannot be used.
    """
    if not isinstance(value, str | Mapping):
        return value  # read already
    keys = {} if isinstance(value, str) else {k: v for k, v in value.items() if k != "kind"}
    cls = family.own(value if isinstance(value, str) else value["kind"], anew=True)
    adapter, refused = adapter_of(made(cls)), list[ValidationError]()
    with calling(cls):
        try:
            plugin = adapter.validate_json(json.dumps(keys))
            problem = _fault_problem(plugin) if family.name == "faults" else ""
        except ValidationError as error:
            refused.append(error)
    if not refused:
        if problem:
            raise ValueError(f"{cls.__name__}: {problem}")
        return plugin
    found = conflicts(refused[0].errors(include_url=False), adapter.json_schema(), keys)
    raise MisplacedKeysError(found) from refused[0]


def _fault_problem(fault: Any) -> str:
    """Return how the actions of `fault` differ from what is expected; empty if they do not."""
    for name in ("begin", "end"):
        action = getattr(fault, name)("device")
        if not isinstance(action, Action) or action.verb not in ORDER:
            return f"{name} returns {action!r:.60}: an Action with a known verb was expected"
        if action.node != "device":
            return f"{name} returns an action on {action.node!r}, not on the node that it is given"
    return ""


def adapter_of(cls: type) -> TypeAdapter[Any]:
    """Return the reader of the plugin class `cls`. Raises ValueError if a field has a bad type."""
    cls.__pydantic_config__ = STRICT  # type: ignore[attr-defined]
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(cls)
        adapter.rebuild(raise_errors=True)  # a name in an annotation may not exist
        return adapter
    except (PydanticUserError, NameError, TypeError) as error:
        first = str(error).splitlines()[0]
        raise ValueError(f"{cls.__name__} has a field that no file can hold: {first}") from error


def schemas_of_own(family: Family, made: Callable[[type], type], handler: Any) -> OwnSchemas:
    """Return the JSON schemas of the users' plugins of `family`; `handler` is pydantic's.

    An installed plugin that cannot be imported has none.
    """
    about = (
        f"A class of your own in a Python file, in the family {family.name}; `emulate new half "
        "--from half` writes a codec and figures to begin with."
    )
    file = {"type": "string", "pattern": PATTERN, "description": about}
    words, members = [], []
    for name in family.installed():
        try:
            schema = handler(adapter_of(made(family.own(name))).core_schema)
        except ValueError:
            continue
        members.append(schema)
        if not schema.get("required"):
            words.append(name)
    filed = {
        "title": "Class in a file",
        "type": "object",
        "properties": {"kind": file},
        "required": ["kind"],
    }
    return OwnSchemas(words, file, [*members, filed])
