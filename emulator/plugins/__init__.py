"""Plugins as plain data: a frozen dataclass is a plugin's schema, and the field `kind` names it.

`plain` and `make` carry a plugin between processes without pydantic, which a device's image lacks.
Scenarios embed the same dataclasses as a union discriminated by `kind`.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_args, get_type_hints

from ..units import Quantity


def plain(plugin: Any) -> dict[str, Any]:
    """Return the fields of `plugin`, `kind` included, as JSON-compatible values in base units."""
    values = {field.name: getattr(plugin, field.name) for field in fields(plugin)}
    return {name: _bare(value) for name, value in values.items()}


def make(kinds: Any, description: Mapping[str, Any]) -> Any:
    """Build the plugin that `plain` described; `kinds` is a plugin class or a union of classes.

    A kind like `/path/file.py:Class` names a class in a file. Raises ValueError for an unknown
    kind, and any error of the class for bad fields.
    """
    classes = {cls.kind: cls for cls in get_args(kinds) or (kinds,)}
    kind = description.get("kind")
    if kind in classes:
        cls = classes[kind]
    elif isinstance(kind, str) and ".py:" in kind:
        from .own_class import own_class  # only here: every device loads this module

        cls = own_class(kind)
    else:
        raise ValueError(f"kind {kind!r} is not {' or '.join(classes)}")
    hints = get_type_hints(cls)
    return cls(**{name: _typed(hints.get(name), value) for name, value in description.items()})


def _bare(value: Any) -> Any:
    """Return `value` as a plain float if it is a quantity."""
    # JSON encoders disagree about subclasses of float
    return float(value) if isinstance(value, Quantity) else value


def _typed(hint: Any, value: Any) -> Any:
    """Return `value` as the quantity class that `hint` names, or unchanged for any other hint."""
    quantity = isinstance(hint, type) and issubclass(hint, Quantity)
    return hint(value) if quantity else value
