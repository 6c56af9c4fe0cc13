"""The tables of records in `docs/run-folder.md`: `python -m tests.log.record_tables` makes them.

Names, types and units come from the Structs of `emulator/log/*records.py`, the texts from their
docstrings.
"""

import ast
import inspect
import re
from collections.abc import Mapping
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo, fields

from emulator.log import records
from emulator.log.records import KINDS, fault_records
from emulator.log.records.fault_records import TimelineRecord
from emulator.log.records.record_fields import LogRecord
from tests.layers import ROOT

PAGE = ROOT / "docs" / "run-folder.md"
_BEGIN = "<!-- {name}: made by `python -m tests.log.record_tables` from here -->\n"
_END = "<!-- to here -->\n"

_WORDS = {
    str: "text",
    bool: "true or false",
    int: "integer",
    float: "number",
    list[int]: "list of integers",
    list[float]: "list of numbers",
    list[bool]: "list of true or false",
    list[tuple[int, int]]: "list of [first, last]",
    list[tuple[float, float]]: "list of [begin, end]",
}
"""Types of fields as the tables name them."""


def page() -> str:
    """Return the page with its tables made anew. A ValueError if a table has no single place."""
    text = PAGE.read_text()
    for name, table in (("run.jsonl", _of_kinds()), ("timeline.jsonl", _of_timeline())):
        begin = _BEGIN.format(name=name)
        place = re.compile(f"{re.escape(begin)}(?:.*\n)*?{re.escape(_END)}")
        if len(place.findall(text)) != 1:
            raise ValueError(f"{PAGE}: not one place for the table of {name}")
        text = place.sub(lambda _, fresh=begin + table + _END: fresh, text)
    return text


def described(annotation: Any) -> str:
    """Return a field's type and unit, as `text`, `integer, bytes` or `number or null`."""
    if get_origin(annotation) is Annotated:
        return f"{_WORDS[annotation.__origin__]}, {annotation.__metadata__[0].extra['unit']}"
    if annotation in _WORDS:
        return _WORDS[annotation]
    if get_origin(annotation) is Mapping:
        return "mapping"
    members = [member for member in get_args(annotation) if member is not NoneType]
    if len(members) != 1:
        raise TypeError(f"no words for {annotation}")
    return f"{described(members[0])} or null"


def docstrings(struct: type[Struct]) -> dict[str, str]:
    """Return the docstring of each field of `struct`, those of its parents first."""
    texts: dict[str, str] = {}
    for parent in reversed(struct.__mro__):
        written = (getattr(module, parent.__name__, None) for module in (records, fault_records))
        if parent in written:  # others are made of the verbs' table
            texts |= _own_docstrings(parent)
    return texts


def _own_docstrings(struct: type) -> dict[str, str]:
    (body,) = ast.parse(inspect.getsource(struct)).body
    assert isinstance(body, ast.ClassDef)
    texts: dict[str, str] = {}
    for node, following in zip(body.body, [*body.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            texts[node.target.id] = _text(following)
    return texts


def _text(node: ast.stmt | None) -> str:
    match node:
        case ast.Expr(ast.Constant(str(text))):
            return " ".join(text.split())
    return ""


def _of_kinds() -> str:
    rows = ["| `what` | key | value | meaning |", "|---|---|---|---|"]
    rows += ["| every kind | | | |", *_rows(LogRecord)]
    first_child: dict[type, str] = {}
    for what, struct in KINDS.items():
        parent = struct.__mro__[1]
        rows.append(f"| **`{what}`** | | | {' '.join(str(inspect.getdoc(struct)).split())} |")
        if parent is LogRecord or parent not in first_child:
            first_child[parent] = what
            rows += _rows(struct)[1:]
        else:
            rows.append(f"| | the keys of `{first_child[parent]}` | | |")
    return "\n".join(rows) + "\n"


def _of_timeline() -> str:
    return "\n".join(
        ["| | key | value | meaning |", "|---|---|---|---|", *_rows(TimelineRecord), ""]
    )


def _rows(struct: type[Struct]) -> list[str]:
    texts = docstrings(struct)
    return [
        f"| | {_key(field)} | {_value(field)} | {texts[field.name]} |" for field in fields(struct)
    ]


def _key(field: FieldInfo) -> str:
    return f"`{field.name}`" + ("" if field.default is NODEFAULT else ", optional")


def _value(field: FieldInfo) -> str:
    # the null of an optional field stands in no line: the field is absent then
    words = described(field.type)
    return words if field.default is NODEFAULT else words.removesuffix(" or null")


if __name__ == "__main__":
    PAGE.write_text(page())
