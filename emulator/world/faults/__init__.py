"""Kinds of faults, a module each. To add a kind, add a module here and a row in the tests."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Union

from ...plugins import Family
from .base import Fault
from .hazard import DrawnFault, Hazard
from .occurrences import Interval
from .schedule import Aimed, Recurring, Scheduled, scheduled


def _kinds() -> Iterator[type[Fault]]:
    """Yield the fault class of each module in this package, in alphabetical order of modules."""
    for name in sorted(module.name for module in iter_modules(__path__)):
        module = import_module(f"{__name__}.{name}")
        for value in vars(module).values():
            if _is_kind(value) and value.__module__ == module.__name__:
                yield value


def _is_kind(value: Any) -> bool:
    """Return whether `value` is a fault class: its field `kind` has a text as default."""
    return isinstance(value, type) and isinstance(getattr(value, "kind", None), str)


FAULTS: dict[str, type[Fault]] = {fault.kind: fault for fault in _kinds()}  # type: ignore[misc]
FAMILY = Family("faults", Union[tuple(FAULTS.values())], Fault)  # noqa: UP007

__all__ = [
    "FAMILY",
    "FAULTS",
    "Aimed",
    "DrawnFault",
    "Fault",
    "Hazard",
    "Interval",
    "Recurring",
    "Scheduled",
    "scheduled",
]
