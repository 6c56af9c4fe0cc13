"""Markdown tables, and their replacement in a page."""

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from ..errors import RunError

NEVER = "never"
"""Word for a cost that most seeds never paid, as they missed the target."""

BEGIN, END = "<!-- made by `{command}` from here -->", "<!-- to here -->"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table with the first column aligned left and the others right."""
    rule = "|---|" + "---:|" * (len(columns) - 1)
    return "\n".join([_line(columns), rule, *map(_line, rows)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def never_or(words: Callable[[float], str]) -> Callable[[float], str]:
    """Return a function that formats a value by `words`, and infinity as `NEVER`."""
    return lambda value: NEVER if math.isinf(value) else words(value)


def replace(page: Path, command: str, made: str) -> None:
    """Replace the text between the marks of `command` in `page` by `made`.

    Raises RunError if the page cannot be read or written, or has no such marks.
    """
    begin = BEGIN.format(command=command)
    before, after = around(page, command)
    try:
        page.write_text(f"{before}{begin}\n\n{made.strip()}\n\n{END}{after}", encoding="utf-8")
    except OSError as error:
        raise RunError(f"{page}: cannot be written: {error.strerror}") from error


def around(page: Path, command: str) -> tuple[str, str]:
    """Return the text of `page` before and after the marks of `command`.

    Raises RunError if the page cannot be read, or has no such marks.
    """
    try:
        text = page.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"{page}: cannot be read: {error}") from error
    begin = BEGIN.format(command=command)
    before, mark, rest = text.partition(begin)
    _, end, after = rest.partition(END)
    if not (mark and end):
        raise RunError(f"{page}: has no place for the tables: write {begin!r} and {END!r} there")
    return before, after
