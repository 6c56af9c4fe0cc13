"""A scenario file to a resolved scenario, or to all its mistakes at once."""

import json
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from ...errors import ScenarioError
from ..model import Scenario
from .algorithm_names import spell_out, spell_out_towards
from .checks import check
from .document import Address, Document
from .json_schema import schema
from .override import Override, override
from .profiles import Library, inline
from .wording import explain
from .yaml_subset import parse, read


def load(path: str | Path, overrides: Sequence[str | Override] = ()) -> Scenario:
    """Read the file, apply each `PATH=VALUE` of `overrides` to it, and resolve what it names.

    Raises a ScenarioError whose message has a line for each mistake: file, line, place, what
    was found, what was expected.
    """
    file = Path(path)
    return _resolve(read(file), overrides, Library(file.parent))


def loads(
    text: str, overrides: Sequence[str | Override] = (), folder: str | Path = "."
) -> Scenario:
    """As `load`, from text that stands in no file; profiles are looked for from `folder`."""
    return _resolve(parse(text, "scenario"), overrides, Library(Path(folder)))


def _resolve(document: Document, overrides: Sequence[str | Override], library: Library) -> Scenario:
    if not isinstance(document.data, dict):
        if not document.mistakes:
            document.complain((), "a scenario is a mapping, as `name: …`, `training: …`")
        raise _refusal(document)

    def expand(address: Address) -> None:
        inline(document, library, address)
        spell_out_towards(document, address)

    for one in overrides:
        override(document, Override(one) if isinstance(one, str) else one, expand)
    inline(document, library)
    spell_out(document)
    scenario = _validated(document)
    check(document)
    if document.mistakes or scenario is None:
        raise _refusal(document)
    return scenario


def _validated(document: Document) -> Scenario | None:
    try:
        # as JSON, in which lists may become tuples and mappings objects, but "3" is not 3
        return Scenario.model_validate_json(json.dumps(document.data))
    except ValidationError as error:
        explain(document, error.errors(include_url=False), schema())
        return None


def _refusal(document: Document) -> ScenarioError:
    first = document.marks[()].file
    mistakes = sorted(document.mistakes, key=lambda one: (one.mark.file != first, one.mark[:2]))
    return ScenarioError("\n".join(map(str, mistakes)), [one.plain() for one in mistakes])
