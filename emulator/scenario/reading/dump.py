"""A scenario back to YAML, as resolved: it names no other file and can be run again."""

from dataclasses import fields, is_dataclass
from typing import Any

import yaml
from pydantic import BaseModel

from ...units import Quantity
from .yaml_subset import CORE


class _Dumper(yaml.SafeDumper):
    """Quotes a text that some reader of YAML, 1.1 or 1.2, would take for something else."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


for _tag, _pattern, _first in CORE:
    _Dumper.add_implicit_resolver(_tag, _pattern, _first)


def dump(scenario: BaseModel) -> str:
    """YAML from which `load` makes an equal scenario, without looking at any other file."""
    return yaml.dump(
        plain(scenario),
        Dumper=_Dumper,
        sort_keys=False,
        default_flow_style=None,
        allow_unicode=True,
        width=100,
    )


def plain(value: Any) -> Any:
    """As a file would have it: quantities with their units, what is absent left out."""
    if isinstance(value, Quantity):
        return str(value)
    if isinstance(value, BaseModel):
        return _mapping(value, type(value).model_fields)
    if is_dataclass(value):
        return _mapping(value, [field.name for field in fields(value)])
    if isinstance(value, tuple):
        return [plain(one) for one in value]
    return value


def _mapping(value: Any, names: Any) -> dict[str, Any]:
    # `kind` says what the others mean, so it comes first wherever the class has it
    ordered = sorted(names, key=lambda name: name != "kind")
    return {name: plain(one) for name in ordered if (one := getattr(value, name)) is not None}
