"""Writing a resolved scenario as YAML that needs no other file and can be run again."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import yaml
from pydantic import BaseModel

from ...units import Fraction, Quantity
from ...world.links.link import Side, named_keys
from ...world.links.loss_models import LossModel
from ..sections.workload_section import NoTraining
from .yaml_subset import CORE


class _Dumper(yaml.SafeDumper):
    """Quotes each text that a reader of YAML 1.1 or 1.2 would take for a number or another type."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


for _tag, _pattern, _first in CORE:
    _Dumper.add_implicit_resolver(_tag, _pattern, _first)


def dump(scenario: BaseModel, places: Mapping[str, str] | None = None) -> str:
    """Return YAML from which `load` makes an equal scenario without reading any other file.

    The Python files of users are the exception: their paths are absolute, or those that `places`
    has for references such as `/lab/own.py:Mine`.
    """
    return yaml.dump(
        _placed(plain(scenario), places or {}),
        Dumper=_Dumper,
        sort_keys=False,
        default_flow_style=None,
        allow_unicode=True,
        width=100,
    )


def _placed(value: Any, places: Mapping[str, str]) -> Any:
    """Return plain `value` with each text of `places` replaced."""
    match value:
        case dict():
            return {key: _placed(inner, places) for key, inner in value.items()}
        case list():
            return [_placed(inner, places) for inner in value]
        case str():
            return places.get(value, value)
    return value


def plain(value: Any) -> Any:
    """Return `value` as plain data for a scenario file: quantities as text with units, no None."""
    if isinstance(value, Quantity):
        return str(value)
    if isinstance(value, BaseModel):
        return _mapping(value, type(value).model_fields)
    if isinstance(value, Side):
        return _mapping(value, named_keys(value))
    if isinstance(value, LossModel):
        return _shares(value)
    if is_dataclass(value):
        mapping = _mapping(value, [field.name for field in fields(value)])
        source = getattr(type(value), "plugin_source", None)
        return mapping if source is None else {**mapping, "kind": source}
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return value


def _mapping(value: Any, names: Any) -> dict[str, Any]:
    # `kind` comes first: the meaning of the other keys depends on it
    ordered = sorted(names, key=lambda name: name != "kind")
    values = {name: getattr(value, name) for name in ordered}
    given = {name: inner for name, inner in values.items() if inner is not None}
    return {name: plain(inner) for name, inner in given.items() if inner != NoTraining()}


def _shares(model: LossModel) -> dict[str, Any]:
    """Return `model` with its probabilities as text, by the keys of the scenario file."""
    return {
        kind: {key: str(Fraction(value)) for key, value in values.items()}
        for kind, values in model.plain().items()
    }
