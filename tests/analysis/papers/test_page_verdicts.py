"""Verdicts on the studies' pages are those that the code gives of the pages' own tables."""

import math
import re

import pytest

from analysis.papers import omnivore, reliability, tuned_fleets
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
    """Return the lines of the claims from the numbers in the tables of docs/omnivore.md."""
    (groups,) = with_columns("omnivore.md", "g", "momentum, rate")
    (strategies,) = with_columns("omnivore.md", "", "momentum", "rate")
    (fits,) = with_columns("omnivore.md", "", "g", "1 − 1/g")
    tuned = {int(row[0]): Tuned(float(row[1].split(",")[0]), number(row[-1])) for row in groups}
    times = {row[0]: number(row[-1]) for row in strategies}
    memoryless = []
    for row in fits:
        if row[0].startswith("exponential"):
            least, most = (float(end) for end in row[3].split("(")[1].rstrip(")").split(" – "))
            theory = 1 - 1 / int(row[1])
            memoryless.append(Implicit(theory, number(row[3]), least, most, number(row[4])))
    fixed = times["asynchronous, momentum 0.9, rate of the synchronous"]
    return omnivore.verdicts(tuned, times["synchronous, momentum 0.9"], fixed, memoryless)


def reliability_verdicts() -> list[list[str]]:
    """Return the lines of the claims from the numbers in the tables of docs/reliability.md."""
    ends: dict[tuple[str, str], tuple[float, float]] = {}
    for rows in with_columns("reliability.md", "", "crashes"):
        for row in rows:
            world, entry = row[0].split(": ")
            ends[world, entry] = number(row[3]) / 100, bytes_of(row[_PUSHED])
    worlds = dict.fromkeys(world for world, _ in ends)
    struck = [world for world in worlds if world != reliability.SURE]
    gains = {
        entry: {world: ends[world, entry][0] - ends[reliability.SURE, entry][0] for world in struck}
        for entry in ("AdaComp", "ASGD")
    }
    gains[reliability.EQUAL] = {
        world: ends[world, "AdaComp"][0] - ends[world, "ASGD"][0] for world in struck
    }
    saved = [ends[world, "ASGD"][1] / ends[world, "AdaComp"][1] for world in worlds]
    return reliability.verdicts(gains, saved)


_PUSHED = 6
"""Column of the bytes pushed until the target."""


def bytes_of(cell: str) -> float:
    return number(cell) * {"GB": 1e9, "MB": 1e6, "kB": 1e3, "B": 1.0}[cell.split()[1]]


FLEETS = ("equal devices", "half slow", "shaped links")


def tuned_verdicts() -> list[list[str]]:
    """Return the lines of the claims from the ratios in the tables of docs/tune.md."""
    by_fleet = with_columns("tune.md", "seed", "fixed-sync")
    columns = {
        (paper, name): [[ratio(row[place]) for row in rows[:-1]] for rows in by_fleet]
        for (paper, name), place in PLACES.items()
    }
    return [line for key, ratios in columns.items() for line in tuned_fleets.near(*key, ratios)]


PLACES = {(False, "tuned"): 5, (False, "anew"): 6, (True, "tuned"): 8, (True, "anew"): 9}
"""Columns of the choices by rule and start."""


def ratio(cell: str) -> float:
    return math.inf if cell == "missed" else float(cell.split("(")[1].rstrip(")"))


def test_verdicts_on_choices_follow_from_the_ratios_of_the_same_seed() -> None:
    (claims,) = with_columns("tune.md", "claim", *FLEETS)
    assert claims[:-1] == tuned_verdicts()


def test_verdicts_on_the_cost_of_probes_follow_from_the_shares_beside_them() -> None:
    (claims,) = with_columns("tune.md", "claim", *FLEETS)
    shares = [
        {
            int(seed): float(share) / 100
            for seed, share in re.findall(r"seed (\d+): ([\d.]+) %", cell)
        }
        for cell in claims[-1][1:]
    ]
    assert all(shares)
    assert claims[-1] == tuned_fleets.cheap(shares)


@pytest.mark.parametrize(
    ("page", "verdicts"),
    [("omnivore.md", omnivore_verdicts), ("reliability.md", reliability_verdicts)],
)
def test_verdicts_follow_from_the_tables_below_them(page: str, verdicts) -> None:  # type: ignore[no-untyped-def]
    (claims,) = with_columns(page, "claim", "here", "measured")
    assert claims == verdicts()
