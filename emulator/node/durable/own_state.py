"""Classes of users' plugins in the state of a server.

A state names a class by its module and its name there. Only modules count that the plugins of the
plan have loaded, so a state can name no other class, and loads nothing.
"""

import sys
from collections.abc import Iterator
from enum import Enum
from functools import cache
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

from ...plugins.python_file import MODULES, loaded_modules

_NAMES: dict[type[Any], str] = {}
"""The result of `class_name` for each class so far."""


def is_own(value: Any) -> bool:
    """Return whether a user's plugin, in a file or an installed package, defines the class of
    `value`."""
    module = type(value).__module__
    return module.startswith(MODULES) or _installed(module) or bool(class_name(type(value)))


def class_name(cls: type[Any]) -> str:
    """Return the name of `cls`, from which `class_named` returns it; empty if it does not."""
    if cls not in _NAMES:
        name = f"{cls.__module__}:{cls.__qualname__}"
        _NAMES[cls] = name if cls in _classes(name) else ""
    return _NAMES[cls]


def class_named(name: str) -> type | None:
    """Return the class of a user that `name` names; None without one."""
    return next(_classes(name), None)


def _classes(name: str) -> Iterator[type]:
    module, _, path = name.partition(":")
    for place in _modules(module):
        found: Any = place
        for part in path.split("."):
            found = getattr(found, part, None)
        if isinstance(found, type) and found.__module__ == module:
            yield found


def _modules(name: str) -> list[ModuleType]:
    if _installed(name):
        return [sys.modules[name]] if name in sys.modules else []
    return loaded_modules(name)


def _installed(module: str) -> bool:
    return module.partition(".")[0] in _packages()


@cache
def _packages() -> frozenset[str]:
    """Return the names of the packages that offer plugins by entry points."""
    points = entry_points()
    groups = (group for group in points.groups if group.startswith("emulate."))
    found = (point for group in groups for point in points.select(group=group))
    return frozenset(point.module.partition(".")[0] for point in found)


def member(name: str, member: str) -> Any:
    """Return the member of the enumeration `name` of a user. Raises KeyError without one."""
    cls = class_named(name)
    if cls is None or not issubclass(cls, Enum):
        raise KeyError(name)
    return cls[member]
