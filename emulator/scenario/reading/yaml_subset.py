"""A reader of YAML 1.2's JSON subset that returns plain data with a line number for every value.

PyYAML's own loader follows YAML 1.1, where `no` is false, `1:30` is ninety and `1e-3` is text, and
it keeps the last of two equal keys. This reader keeps words as text and refuses a repeated key.
"""

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from ...errors import suggestion
from ...plugins.plain_files import read_plain
from .document import Address, Document, Mark, Mistake

_PREFIX = "tag:yaml.org,2002:"
_NUMBER = r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
CORE = (
    (f"{_PREFIX}null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]),
    (f"{_PREFIX}bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")),
    (
        f"{_PREFIX}int",
        re.compile(r"^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$"),
        list("-+0123456789"),
    ),
    (
        f"{_PREFIX}float",
        re.compile(rf"^(?:{_NUMBER}|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"),
        list("-+.0123456789"),
    ),
)
"""Types of unquoted values in YAML 1.2's core schema: tag, pattern, possible first letters."""


class _Loader(yaml.SafeLoader):
    """A loader that finds the types of unquoted values by YAML 1.2's core schema."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012


class _QuickLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """The same by libyaml, in a twentieth of the time, where PyYAML was built with it."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012


for _tag, _pattern, _first in CORE:
    for _each in (_Loader, _QuickLoader):
        _each.add_implicit_resolver(_tag, _pattern, _first)

MOST_REPEATED = 50_000
"""Largest number of values that aliases may repeat in one file: nested aliases multiply, so a few
lines could stand for billions of values."""

MOST_REMEMBERED = 20_000
"""Length of the longest text whose nodes are kept for the next time it is read, in characters."""

_MOST_DIGITS = 19
"""Number of digits that no whole number has: all others fit 64 bits."""

_PATTERNS = {tag.removeprefix(_PREFIX): pattern for tag, pattern, _ in CORE}


def read(file: Path) -> Document:
    """Return the document in `file`; an unreadable file has the data None and a mistake."""
    try:
        text = read_plain(file).decode()
    except OSError as error:
        reason = f"cannot be read: {error.strerror}{_meant(file)}"
        return _unreadable(Mark(str(file), None, ()), reason)
    except UnicodeDecodeError as error:
        mark = Mark(str(file), None, ())
        return _unreadable(mark, f"is not UTF-8 text (byte {error.start})")
    return parse(text, str(file))


def _meant(file: Path) -> str:
    """Return a suggestion of the YAML file beside the missing `file` that has nearly its name."""
    if file.exists():
        return ""
    there = sorted(each.name for each in file.parent.glob("*.yaml"))
    named = f"{file.name}.yaml"
    return suggestion(named if named in there else file.name, there)


def parse(text: str, name: str, *, lines: bool = True) -> Document:
    """Return the document in `text`, as `read` does.

    `name` names the text in mistakes. With `lines` False its marks bear no line numbers.
    """
    try:
        root = (_composed if len(text) > MOST_REMEMBERED else _remembered)(text)
        reader = _Reader(name, lines)
        reader.document.data = None if root is None else reader.value(root, ())
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark and lines else None
        return _unreadable(Mark(name, line, ()), f"this is not YAML: {_syntax(error)}")
    except RecursionError:
        return _unreadable(Mark(name, None, ()), "is nested too deeply")
    except _Endless as error:
        return _unreadable(error.mark, str(error))
    return reader.document


def _composed(text: str) -> yaml.Node | None:
    try:
        return yaml.compose(text, Loader=_QuickLoader)
    except yaml.YAMLError:  # the other one has the last word, and the same words on every host
        return yaml.compose(text, Loader=_Loader)


# The points of a sweep are one text with other overrides, and devices share profiles. A text's
# nodes are only read, so every document of the text can be made of the same ones.
_remembered = lru_cache(128)(_composed)


def _unreadable(mark: Mark, message: str) -> Document:
    return Document(None, {(): mark}, [Mistake(mark, message)], {()})


class _Endless(Exception):
    """Raised when the aliases of a file stand for too many values."""

    def __init__(self, mark: Mark) -> None:
        super().__init__(
            f"aliases repeat more than {MOST_REPEATED:,} values: write fewer, and `count` for "
            "equal devices"
        )
        self.mark = mark


class _Reader:
    """Collects values, marks and mistakes in one walk over the nodes of a YAML file."""

    def __init__(self, name: str, lines: bool) -> None:
        self._name = name
        self._lines = lines
        self._open: list[yaml.Node] = []
        self._seen: set[int] = set()
        self._repeated = 0
        self.document = Document(None, {(): Mark(name, 1 if lines else None, ())})

    def value(self, node: yaml.Node, address: Address) -> Any:
        # the nodes around this one are open: an alias to one of them would recurse for ever
        if any(node is outer for outer in self._open):
            self.document.complain(address, "an alias inside its own anchor has no end")
            return None
        self._count(node, address)
        self._open.append(node)
        try:
            return self._value(node, address)
        finally:
            self._open.pop()

    def _count(self, node: yaml.Node, address: Address) -> None:
        """Count `node` if an alias repeats it; raise `_Endless` above `MOST_REPEATED`.

        The error bears the outermost key of `address`.
        """
        # the tree keeps all nodes alive, so no two nodes have the same id
        if id(node) not in self._seen:
            self._seen.add(id(node))
            return
        self._repeated += 1
        if self._repeated > MOST_REPEATED:
            raise _Endless(self.document.mark(address[:1]))

    def _value(self, node: yaml.Node, address: Address) -> Any:
        kind = node.tag.removeprefix(_PREFIX)
        if kind not in ("map", "seq", "str", *_PATTERNS):
            self.document.complain(address, f"the tag {node.tag} has no meaning here: remove it")
        match node:
            case yaml.MappingNode():
                return self._mapping(node, address)
            case yaml.SequenceNode():
                return [self._item(child, (*address, i)) for i, child in enumerate(node.value)]
            case _ if "\0" in node.value:  # no path, name or argument of a program has one
                self.document.complain(address, "has a NUL character (\\0): remove it")
                return node.value.replace("\0", "")
            case _:
                if kind == "int" and len(node.value) >= _MOST_DIGITS:
                    shown = f"{node.value[:20]}…"
                    message = f"{shown} is too large: write at most {_MOST_DIGITS - 1} digits"
                    self.document.complain(address, message)
                    return 0
                return _plain_scalar(kind, node.value)

    def _item(self, node: yaml.Node, address: Address) -> Any:
        self._mark(node, address)
        return self.value(node, address)

    def _mapping(self, node: yaml.MappingNode, address: Address) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key, child in node.value:
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else "?"
            if name == "<<":
                self._complain(key, (*address, name), "YAML 1.2 has no merge keys: write them out")
                continue
            if name in data:
                first = self.document.mark((*address, name)).line
                self._complain(key, (*address, name), "is written twice" + _line(first))
                continue
            self._mark(key, (*address, name))
            data[name] = self.value(child, (*address, name))
        return data

    def _mark(self, node: yaml.Node, address: Address) -> None:
        self.document.marks[address] = Mark(self._name, self._line(node), address)

    def _complain(self, node: yaml.Node, address: Address, message: str) -> None:
        mark = Mark(self._name, self._line(node), address)
        self.document.mistakes.append(Mistake(mark, message))

    def _line(self, node: yaml.Node) -> int | None:
        return node.start_mark.line + 1 if self._lines else None


def _plain_scalar(kind: str, text: str) -> Any:
    if kind not in _PATTERNS or not _PATTERNS[kind].fullmatch(text):
        return text
    match kind:
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int" if len(text) < _MOST_DIGITS:
            return int(text, 0 if text[:2] in ("0o", "0x") else 10)
        case "int":
            return float(int(text, 0 if text[:2] in ("0o", "0x") else 10))
        case _:
            return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))


def _line(number: int | None) -> str:
    return f" (first on line {number})" if number else ""


def _syntax(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    if problem.startswith("but"):  # PyYAML's problem is the second half of a sentence
        problem = f"{getattr(error, 'context', '')}, {problem}"
    if "'\\t'" in problem:
        problem = "a tab where YAML needs spaces"
    return f"{problem} (column {mark.column + 1})" if mark else problem
