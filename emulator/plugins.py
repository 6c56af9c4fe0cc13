"""Plugins as plain data: a frozen dataclass is its own schema, and its `kind` its name.

`make` and `plain` carry a plugin between processes without pydantic, which a device's image
does not have. Scenarios embed the same dataclasses as a union discriminated on `kind`.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_args, get_type_hints

from .units import Quantity


def plain(plugin: Any) -> dict[str, Any]:
    """As JSON holds it: `kind`, and every field in its base unit."""
    values = {field.name: getattr(plugin, field.name) for field in fields(plugin)}
    return {name: _bare(value) for name, value in values.items()}


def make(kinds: Any, description: Mapping[str, Any]) -> Any:
    """The inverse of `plain`; `kinds` is one plugin class or a union of them.

    Raises ValueError for an unknown kind, and whatever the class raises for bad fields.
    """
    classes = {cls.kind: cls for cls in get_args(kinds) or (kinds,)}
    kind = description.get("kind")
    if kind not in classes:
        raise ValueError(f"kind {kind!r} is not {' or '.join(classes)}")
    cls = classes[kind]
    hints = get_type_hints(cls)
    return cls(**{name: _typed(hints.get(name), value) for name, value in description.items()})


def _bare(value: Any) -> Any:
    # encoders of JSON treat a subclass of float each in its own way
    return float(value) if isinstance(value, Quantity) else value


def _typed(hint: Any, value: Any) -> Any:
    quantity = isinstance(hint, type) and issubclass(hint, Quantity)
    return hint(value) if quantity else value
