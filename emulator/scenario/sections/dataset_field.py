"""The scenario's key `training.dataset`: a name, the path of data, or a mapping with the path."""

from dataclasses import is_dataclass
from typing import Any

from pydantic_core import core_schema

from ...learning.datasets import OwnDataset
from ...plugins.python_file import NAME
from .fields import Name

_NAME, _OWN = "a name", "data of one's own"
_REMEDY = ", nor a path, as ./data.npz, ./table.csv, ./images/ or ./file.py:function"
_PATH = rf"/|\.(npz|csv|parquet)$|{NAME}"
"""Regular expression of a path, as opposed to a name."""


class NameOrData:
    """Reads one of the names in `known`, a table of names and descriptions, or an OwnDataset.

    The path alone stands for a mapping with the key `file`: `reading/dataset_files.py` puts the
    mapping in the path's place, so the reader does not see the path alone.
    """

    def __init__(self, known: dict[str, str]) -> None:
        self._name = Name(known, _REMEDY)

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        name = self._name.__get_pydantic_core_schema__(str, handler)
        choices = {_NAME: name, _OWN: handler.generate_schema(OwnDataset)}
        return core_schema.tagged_union_schema(choices, self._tag)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        names = self._name.__get_pydantic_json_schema__(None, None)
        about = (
            "Path of data of one's own, from the scenario's folder, or in an option from the "
            "working directory."
        )
        path = {"type": "string", "pattern": _PATH, "description": about}
        return {"anyOf": [names, path, handler(schema["choices"][_OWN])]}

    def _tag(self, value: Any) -> str:
        return _OWN if isinstance(value, dict) or is_dataclass(value) else _NAME
