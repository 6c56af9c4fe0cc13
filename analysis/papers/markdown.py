"""Markdown tables of studies, their cells, and their replacement in a page."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median

from ..errors import RunError
from ..quantities import figures
from ..reading.runs import Run
from .folder import Row

NEVER = "never"
"""Word for a cost that most seeds never paid, as they missed the target."""

Words = Callable[[float], str]

BEGIN, END = "<!-- made by `{command}` from here -->", "<!-- to here -->"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table with the first column aligned left and the others right."""
    rule = "|---|" + "---:|" * (len(columns) - 1)
    return "\n".join([_line(columns), rule, *map(_line, rows)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def never_or(words: Words) -> Words:
    """Return a function that formats a value by `words`, and infinity as `NEVER`."""
    return lambda value: NEVER if math.isinf(value) else words(value)


# -- cells of rows ---------------------------------------------------------------------------------

Values = Mapping[str, Sequence[float]]
"""Results of a row by name, a value for each seed."""
Cell = Callable[[Row, Values], str]


def measured(rows: Iterable[Row], of: Callable[[Run], Mapping[str, float]]) -> dict[Row, Values]:
    """Return the results `of` each run of each of `rows`."""
    found: dict[Row, Values] = {}
    for row in rows:
        seeds = [of(run) for run in row.read()]
        found[row] = {key: [seed[key] for seed in seeds] for key in seeds[0]}
    return found


def rows_table(
    found: Mapping[Row, Values],
    columns: Mapping[str, Cell],
    name: Callable[[Row], str],
    head: str = "",
) -> str:
    """Return a table with a line for each row, called by `name`, and a column for each cell."""
    lines = (
        [name(row), *(cell(row, values) for cell in columns.values())]
        for row, values in found.items()
    )
    return table([head, *columns], lines)


def rate(row: Row, values: Values) -> str:
    """Return the learning rate of `row`."""
    return row.rate


def middle(key: str, words: Words) -> Cell:
    """Return the cell with the median; `never` if most seeds never reached their target."""
    return lambda row, values: never_or(words)(median(values[key]))


def span(key: str, words: Words) -> Cell:
    """Return the cell with the median, the least and the most."""
    return lambda row, values: spread(values[key], words)


def spread(values: Sequence[float], words: Words) -> str:
    """Return the median, the least and the most of `values`."""
    middle, least, most = map(never_or(words), (median(values), min(values), max(values)))
    return f"{middle} ({least} – {most})"


def fewer(found: Mapping[Row, Values], key: str, base: str) -> Cell:
    """Return the cell that says how many times fewer of `key` a row took than the entry `base`.

    Both are of the same world, and the base is at its own best rate.
    """
    bases = {row.world: own for row, own in found.items() if row.own and row.entry == base}

    def cell(row: Row, values: Values) -> str:
        own, reference = median(values[key]), median(bases[row.world][key])
        known = math.isfinite(own) and math.isfinite(reference)
        return figures(reference / own) if known else "–"

    return cell


# -- a page ----------------------------------------------------------------------------------------


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
