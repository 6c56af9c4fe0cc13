"""Verdicts on the studies' pages are those that the code gives of the pages' own tables."""

import math

from analysis.papers import omnivore, tuned_fleets
from analysis.papers.omnivore import Implicit, Tuned
from tests.layers import ROOT

Cells = list[list[str]]


def tables(page: str) -> list[Cells]:
    """Return the cells of each table of docs/`page`, header first, without the rule."""
    found: list[Cells] = [[]]
    for line in (ROOT / "docs" / page).read_text().splitlines():
        if line.startswith("|"):
            found[-1].append([cell.strip() for cell in line.strip("|").split("|")])
        elif found[-1]:
            found.append([])
    return [[cells[0], *cells[2:]] for cells in found if cells]


def with_columns(page: str, *columns: str) -> list[Cells]:
    """Return the rows of each table of `page` whose header begins with `columns`."""
    return [rows for header, *rows in tables(page) if header[: len(columns)] == list(columns)]


def number(cell: str) -> float:
    """Return the first number of `cell`; infinity for `never`."""
    word = cell.split()[0].replace(",", "").replace("−", "-")
    return math.inf if word == "never" else float(word)


def omnivore_verdicts() -> list[list[str]]:
    """Return the lines of the claims from the numbers in the tables of their page."""
    (groups,) = with_columns("papers/hadjis-2016.md", "g", "momentum, rate")
    (strategies,) = with_columns("papers/hadjis-2016.md", "", "momentum", "rate")
    (fits,) = with_columns("papers/hadjis-2016.md", "", "g", "1 − 1/g")
    tuned = {int(row[0]): Tuned(float(row[1].split(",")[0]), number(row[-1])) for row in groups}
    times = {row[0]: number(row[-1]) for row in strategies}
    memoryless = []
    for row in fits:
        if row[0].startswith("exponential"):
            least, most = (float(end) for end in row[3].split("(")[1].rstrip(")").split(" – "))
            theory = 1 - 1 / int(row[1])
            memoryless.append(Implicit(theory, number(row[3]), least, most, number(row[4])))
    fixed = times["asynchronous, momentum 0.9, rate of the synchronous"]
    judged = omnivore.verdicts(tuned, times["synchronous, momentum 0.9"], fixed, memoryless)
    return [one.line for one in judged]


FLEETS = ("equal devices", "half slow", "shaped links")


def tuned_verdicts() -> list[list[str]]:
    """Return the lines of the claims from the ratios in the tables of docs/tune.md."""
    by_fleet = dict(zip(FLEETS, with_columns("tune.md", "seed", "fixed-sync"), strict=True))
    claims = [
        claim
        for (paper, name), place in PLACES.items()
        for claim in tuned_fleets.near(
            paper,
            name,
            {
                fleet: {int(row[0]): ratio(row[place]) for row in rows[:-1]}
                for fleet, rows in by_fleet.items()
            },
        )
    ]
    return [claim.line for claim in claims]


PLACES = {(False, "tuned"): 5, (False, "anew"): 6, (True, "tuned"): 8, (True, "anew"): 9}
"""Columns of the choices by rule and start."""


def ratio(cell: str) -> float:
    return math.inf if cell == "missed" else float(cell.split("(")[1].rstrip(")"))


def test_verdicts_on_choices_follow_from_the_ratios_of_the_same_seed() -> None:
    claims = [
        line
        for rows in with_columns("tune.md", "claim", "where", "verdict", "measured")
        for line in rows
        if "with the same seed, " in line[0]
    ]
    assert claims == tuned_verdicts()


def test_verdicts_follow_from_the_tables_below_them() -> None:
    claims = with_columns("papers/hadjis-2016.md", "claim", "where", "verdict", "measured")
    assert omnivore_verdicts() in claims
