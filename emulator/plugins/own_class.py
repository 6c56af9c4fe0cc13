"""Plugin classes from Python files of users: a class whose `kind` is the place that it is from."""

from dataclasses import field, is_dataclass, make_dataclass
from typing import Any, Literal

from ..errors import PythonFileError
from .python_file import Reference

_KINDS: dict[tuple[type, str], type] = {}
"""Classes with a `kind`, by the class that each is made of; equal plugins need the same class."""


def own_class(text: str) -> type:
    """Return the plugin class that `text` names as `/path/file.py:Class`, with `text` as its kind.

    The class is a frozen dataclass, whose fields are the plugin's keys. Raises PythonFileError if
    it cannot be loaded, or is no such class.
    """
    reference = Reference.read(text, ".")
    cls = reference.load()
    if not isinstance(cls, type) or not _is_frozen(cls):
        message = f"{reference.name!r} is no plugin: write @dataclass(frozen=True) above its class"
        raise PythonFileError(reference.file, None, message)
    if (cls, text) not in _KINDS:
        _KINDS[cls, text] = with_kind(cls, text)
    return _KINDS[cls, text]


def with_kind(cls: type, kind: str) -> type:
    """Return a subclass of the frozen dataclass `cls` whose field `kind` is the text `kind`."""
    fields: list[Any] = [("kind", Literal[kind], field(default=kind))]
    made: type = make_dataclass(cls.__name__, fields, bases=(cls,), frozen=True)
    made.__doc__ = cls.__doc__
    return made


def _is_frozen(cls: Any) -> bool:
    return is_dataclass(cls) and bool(getattr(cls, "__dataclass_params__").frozen)  # noqa: B009
