"""A codec that is typed at a command line: its kind, and fields as `keep=1%`."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ...codecs import FAMILY, AnyCodec
from ...errors import ScenarioError
from ...plugins.python_file import is_reference
from ..own_plugins import STRICT
from ..sections.training_section import CodecField
from .document import place
from .wording import conflicts, not_among
from .yaml_subset import parse


def typed_codec(kind: str, given: Sequence[str]) -> AnyCodec:
    """Return the codec of `kind`, a word or `./file.py:Class`, with each `FIELD=VALUE` of `given`.

    Raises ScenarioError with a line for each mistake.
    """
    known = [*FAMILY.classes, *FAMILY.installed()]
    if is_reference(kind):
        kind = os.path.abspath(Path() / kind)
    elif kind not in known:
        raise ScenarioError(f"{not_among(kind, known)}; a file is ./file.py:Class")
    keys: dict[str, Any] = {"kind": kind}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise ScenarioError(f"--set {text}: write FIELD=VALUE")
        document = parse(value, f"--set {text}", lines=False)
        if document.mistakes:
            raise ScenarioError("\n".join(map(str, document.mistakes)))
        keys[name] = document.data
    adapter: TypeAdapter[AnyCodec] = TypeAdapter(CodecField, config=STRICT)
    try:
        return adapter.validate_json(json.dumps(keys))
    except ValidationError as error:
        found = conflicts(error.errors(include_url=False), adapter.json_schema(), keys)
        lines = (
            ": ".join(filter(None, (place(at), said)))
            + (f": write --set {place(at)}=VALUE" if said.startswith("is missing") else "")
            for at, said in found
        )
        raise ScenarioError("\n".join(lines)) from error
