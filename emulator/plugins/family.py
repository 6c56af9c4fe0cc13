"""A family of plugins: the package's classes, and those of users by file or by entry point."""

import traceback
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from ..errors import PythonFileError
from ..units import Quantity

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@dataclass(frozen=True)
class Family:
    """A family of plugins, named as its package in `emulator/`, if it has one."""

    name: str
    kinds: Any
    """The package's classes, as a union; None if all plugins of the family are users'."""
    protocol: type
    """The protocol whose methods a plugin has."""

    @property
    def group(self) -> str:
        """Group of the entry points under which installed packages offer plugins."""
        return f"emulate.{self.name}"

    @property
    def classes(self) -> dict[str, Any]:
        """The package's classes, by kind."""
        known = () if self.kinds is None else get_args(self.kinds) or (self.kinds,)
        return {cls.kind: cls for cls in known}

    def installed(self) -> "Mapping[str, EntryPoint]":
        """Return the entry points of installed packages, by name."""
        return _entry_points(self.group)

    def is_own(self, kind: object) -> bool:
        """Return whether `kind` is a class of a file, or one that a package offers."""
        from .python_file import is_reference  # only here: every device loads this module

        return isinstance(kind, str) and (is_reference(kind) or kind in self.installed())

    def own(self, kind: str, *, anew: bool = False) -> Any:
        """Return the class of a user's `kind`: `/path/file.py:Class`, or an entry point's name.

        With `anew` a file is read again. Raises PythonFileError if the class cannot be loaded, or
        lacks a method of the protocol.
        """
        # only here: every device loads this module
        from . import own_class
        from .python_file import error_text, is_reference

        if is_reference(kind):
            return own_class.from_file(kind, self.protocol, anew=anew)
        point = self.installed()[kind]
        place = f"the entry point {kind} = {point.value} of {self.group}"
        try:
            cls = point.load()
        except (Exception, SystemExit) as error:
            *_, last = traceback.extract_tb(error.__traceback__)
            said = f"{place} raises {error_text(error)}"
            raise PythonFileError(last.filename, last.lineno, said) from error
        if reason := own_class.refusal(cls, self.protocol):
            raise PythonFileError(None, None, f"{place} {reason}")
        return own_class.named(cls, kind, kind, self.group)

    def make(self, description: Mapping[str, Any]) -> Any:
        """Build the plugin that `plain` described.

        Raises ValueError for an unknown kind, and any error of the class for bad fields.
        """
        kind, classes = description.get("kind"), self.classes
        if kind in classes:
            cls, values = classes[kind], dict(description)
        elif self.is_own(kind):
            cls = self.own(str(kind))
            values = {name: value for name, value in description.items() if name != "kind"}
        else:
            raise ValueError(f"kind {kind!r} is not {' or '.join(classes)}")
        hints = get_type_hints(cls)
        return cls(**{name: _typed(hints.get(name), value) for name, value in values.items()})


@cache
def _entry_points(group: str) -> "Mapping[str, EntryPoint]":
    from importlib.metadata import entry_points  # only here: every device loads this module

    return {point.name: point for point in entry_points(group=group)}


def plain(plugin: Any) -> dict[str, Any]:
    """Return the fields of `plugin`, `kind` included, as JSON-compatible values in base units.

    The kind of a user's plugin is its source, from which another process can make it.
    """
    values = {field.name: _bare(getattr(plugin, field.name)) for field in fields(plugin)}
    source = getattr(type(plugin), "plugin_source", None)
    return values if source is None else {**values, "kind": source}


def _bare(value: Any) -> Any:
    """Return `value` as a plain float if it is a quantity."""
    # JSON encoders disagree about subclasses of float
    return float(value) if isinstance(value, Quantity) else value


def _typed(hint: Any, value: Any) -> Any:
    """Return `value` as the quantity class that `hint` names, or unchanged for any other hint."""
    quantity = isinstance(hint, type) and issubclass(hint, Quantity)
    return hint(value) if quantity else value
