"""Plugins as plain data: a frozen dataclass is a plugin's schema, and the field `kind` names it.

`plain` and `make` carry a plugin between processes without pydantic, which a device's image lacks.
Scenarios embed the same dataclasses as a union discriminated by `kind`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, get_args, get_type_hints

from .units import Quantity


@dataclass(frozen=True)
class AtLeast:
    """Annotation of a whole number from `least` up.

    A class checks a field with `check`. The annotation lets the scenario's reader report a wrong
    number at the field's own place, beside the mistakes in other fields.
    """

    least: int

    def check(self, value: int) -> int:
        """Return `value`. Raises ValueError if `value` is too small."""
        if value < self.least:
            raise ValueError(f"{value} is too small: write a whole number from {self.least} up")
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema  # absent from a device's image, where nobody asks

        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {**handler(schema), "minimum": self.least}


def plain(plugin: Any) -> dict[str, Any]:
    """Return the fields of `plugin`, `kind` included, as JSON-compatible values in base units."""
    values = {field.name: getattr(plugin, field.name) for field in fields(plugin)}
    return {name: _bare(value) for name, value in values.items()}


def make(kinds: Any, description: Mapping[str, Any]) -> Any:
    """Build the plugin that `plain` described; `kinds` is a plugin class or a union of classes.

    Raises ValueError for an unknown kind, and any error of the class for bad fields.
    """
    classes = {cls.kind: cls for cls in get_args(kinds) or (kinds,)}
    kind = description.get("kind")
    if kind not in classes:
        raise ValueError(f"kind {kind!r} is not {' or '.join(classes)}")
    cls = classes[kind]
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
