"""Classes of users' plugins in the state of a server.

A state names a class by its module's name and contents, wherever the file lies, and by its name
there. Only modules count that the plugins of the plan have loaded, so a state can name no other
class, and loads nothing.
"""

import sys
from enum import Enum
from functools import cache
from hashlib import sha256
from importlib.metadata import entry_points
from pathlib import Path
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
        path, modules = cls.__qualname__, _modules(cls.__module__)
        held = (module for module in modules if _defined(module, path) is cls)
        _NAMES[cls] = next((f"{_label(module)}:{path}" for module in held), "")
    return _NAMES[cls]


def class_named(name: str) -> type[Any] | None:
    """Return the user's class with the name `name`; None if no loaded module defines the class."""
    label, _, path = name.partition(":")
    for module in _modules(label):
        if _label(module) == label and (found := _defined(module, path)) is not None:
            return found
    return None


def _defined(module: ModuleType, path: str) -> type[Any] | None:
    """Return the class at `path` in `module`; None if another module defines the class."""
    found: Any = module
    for part in path.split("."):
        found = getattr(found, part, None)
    here = isinstance(found, type) and found.__module__ == module.__name__
    return found if here else None


def _label(module: ModuleType) -> str:
    if _installed(module.__name__):
        return module.__name__
    contents = Path(str(module.__file__)).read_bytes()
    return f"{module.__name__.rpartition('.')[2]}-{sha256(contents).hexdigest()[:12]}"


def _modules(name: str) -> list[ModuleType]:
    if _installed(name):
        return [sys.modules[name]] if name in sys.modules else []
    return loaded_modules()


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
