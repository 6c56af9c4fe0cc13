"""Markdown tables, and the page that keeps them between its own words."""

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from ..errors import RunError

BEGIN, END = "<!-- made by `{command}` from here -->", "<!-- to here -->"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The first column to the left, the others to the right."""
    rule = "|---|" + "---:|" * (len(columns) - 1)
    return "\n".join([_line(columns), rule, *map(_line, rows)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def never_or(words: Callable[[float], str]) -> Callable[[float], str]:
    """Those words, and `never` for what is infinite."""
    return lambda value: "never" if math.isinf(value) else words(value)


def replace(page: Path, command: str, made: str) -> None:
    """Put what was made between the page's marks; the words around them stay."""
    text = page.read_text(encoding="utf-8")
    begin = BEGIN.format(command=command)
    before, mark, rest = text.partition(begin)
    _, end, after = rest.partition(END)
    if not (mark and end):
        raise RunError(f"{page}: has no place for the tables: write {begin!r} and {END!r} there")
    page.write_text(f"{before}{begin}\n\n{made.strip()}\n\n{END}{after}", encoding="utf-8")
