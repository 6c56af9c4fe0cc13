"""Markdown of studies: tables, the words of their cells, and blocks that are replaced in a page."""

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median

from ..errors import RunError

NEVER = "never"
"""Word for a cost that most seeds never paid, as they missed the target."""

Words = Callable[[float], str]

BEGIN, END = "<!-- made by `{command}` from here -->", "<!-- to here -->"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = True) -> str:
    """Return a Markdown table with the first column aligned left.

    The others are aligned right if they hold `numbers`.
    """
    rule = "|---|" + ("---:|" if numbers else "---|") * (len(columns) - 1)
    return "\n".join([_line(columns), rule, *map(_line, rows)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def never_or(words: Words) -> Words:
    """Return a function that formats a value by `words`, and infinity as `NEVER`."""
    return lambda value: NEVER if math.isinf(value) else words(value)


def spread(values: Sequence[float], words: Words) -> str:
    """Return the median, the least and the most of `values`."""
    middle, least, most = map(never_or(words), (median(values), min(values), max(values)))
    return f"{middle} ({least} – {most})"


# -- blocks of a page ------------------------------------------------------------------------------


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
    parts = _parts(page, command)
    if parts is None:
        begin = BEGIN.format(command=command)
        raise RunError(f"{page}: has no place for the tables: write {begin!r} and {END!r} there")
    return parts[0], parts[2]


def block(page: Path, command: str) -> str | None:
    """Return the text between the marks of `command` in `page`, or None without such marks.

    Raises RunError if the page cannot be read.
    """
    parts = _parts(page, command)
    return None if parts is None else parts[1].strip()


def _parts(page: Path, command: str) -> tuple[str, str, str] | None:
    """Return the text of `page` before, between and after the marks of `command`."""
    try:
        text = page.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"{page}: cannot be read: {error}") from error
    before, mark, rest = text.partition(BEGIN.format(command=command))
    made, end, after = rest.partition(END)
    return (before, made, after) if mark and end else None
