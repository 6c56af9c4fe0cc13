"""Plugins as plain data: a frozen dataclass is a plugin's schema, and the field `kind` names it.

`plain` and `Family.make` carry a plugin between processes without pydantic, which a device's image
lacks. Scenarios embed the same dataclasses as a union discriminated by `kind`. Users add classes of
their own to a family, from a file or an installed package.
"""

from .family import Family, plain

__all__ = ["Family", "plain"]
