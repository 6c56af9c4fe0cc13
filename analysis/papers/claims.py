"""Claims of a paper, judged by the results of a study."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .claim_rules import NOT, REPRODUCED, RULES, overall, verdict
from .declaration import WORLDS, Claim, Values, declared
from .folder import Row
from .measures import measure
from .results import LowerBound, Results, in_words

COLUMNS = ["claim", "where", "verdict", "measured"]
"""Columns of a table of claims."""

Place = tuple[str, float]
"""A value, and the world, entry or point of a grid that it belongs to."""


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict."""

    claim: Claim
    verdict: str
    measured: str
    """The numbers that decide, as text."""

    @property
    def line(self) -> list[str]:
        """Cells of the table of claims."""
        told = self.measured
        if self.verdict != REPRODUCED and self.claim.reason:
            told = f"{told}; {self.claim.reason}" if told else self.claim.reason
        return [self.claim.claim, self.claim.where, self.verdict, told]


def judged(study: str, name: str, measured: str, *values: object) -> Judged:
    """Return the claim `name` of `study`, judged by `values`, the arguments of its rule."""
    claim = declared(study).claims[name]
    return Judged(claim, verdict(claim.rule, claim.bound, *values), measured)


def judge(results: Results) -> list[Judged]:
    """Return the claims of the study's file whose values the file names, with their verdicts."""
    claims = results.declared.claims.values()
    return [_judge(results, claim, claim.of) for claim in claims if claim.of]


def total(found: Sequence[Judged]) -> str:
    """Return the verdict on a study from those on its claims; "" without claims."""
    return overall([one.verdict for one in found]) if found else ""


def _judge(results: Results, claim: Claim, of: Values) -> Judged:
    if claim.along:
        sequences = _sequences(results, claim, of)
        values = [_decisive(claim, places) for places in sequences.values()]
        verdicts = [verdict(claim.rule, claim.bound, own) for own in values]
        several = len(sequences) > 1
        told = "; ".join(
            f"{name}: {_listed(places, of)}" if several else _listed(places, of)
            for name, places in sequences.items()
        )
        return Judged(claim, overall(verdicts) if verdicts else NOT, told)
    places = [place for row in _rows(results, claim, of) for place in _value(results, row, of)]
    found = verdict(claim.rule, claim.bound, _decisive(claim, places))
    return Judged(claim, found, _ranged(places, of, singly=RULES[claim.rule].singly))


# -- values ----------------------------------------------------------------------------------------


def _decisive(claim: Claim, places: Sequence[Place]) -> list[float]:
    """Return the values of `places`; a lower bound is unknown to rules that ask for more.

    A rule of what values are at least holds for the true values if it holds for lower bounds.
    """
    known = claim.rule.endswith("at-least")
    return [math.nan if isinstance(v, LowerBound) and not known else v for _, v in places]


def _rows(results: Results, claim: Claim, of: Values) -> list[Row]:
    names = [of.entry] if isinstance(of.entry, str) else of.entry
    return [
        row
        for row in results.study.rows
        if row.own and (claim.worlds is None or row.world in claim.worlds)
        if row.in_containers or of.as_ != "difference"
        if {row.name, row.entry, row.algorithm} & set(names)
    ]


def _value(results: Results, row: Row, of: Values) -> list[Place]:
    """Return the value of `row`; [] for a row that would be compared with itself."""
    if of.as_ == "difference":
        twin = results.twin(row)
        return [(_place(row, of), results.compared(row, twin, of.measure, of.as_))]
    if not of.against:
        return [(_place(row, of), results.middle(row, of.measure))]
    against = {"entry": of.against} if isinstance(of.against, str) else of.against
    world, entry = against.get("world", row.world), against.get("entry", row.algorithm)
    base = results.row(world, entry, row.over, row.on)
    if base == row:
        return []
    return [(_place(row, of), results.compared(row, base, of.measure, of.as_))]


def _place(row: Row, of: Values) -> str:
    """Return the name of what `row` is one of: a world, if the claim is on a single entry.

    A difference is always of a row in containers.
    """
    runtime = row.runtime if of.as_ != "difference" else ""
    if isinstance(of.entry, str) and not row.over:
        return row.world + runtime
    return f"{row.world}: {row.name}{runtime}"


def _sequences(results: Results, claim: Claim, of: Values) -> Mapping[str, list[Place]]:
    """Return the values along the claim's grid, by what is not on that grid: world and entry."""
    found: dict[str, list[Place]] = {}
    rows = _rows(results, claim, of)
    for row in rows:
        if claim.along == WORLDS:
            name, place = row.title, row.world
        else:
            over = dict(row.over)
            if claim.along not in over:
                continue
            place = f"{claim.along} = {over.pop(claim.along)}"
            name = ", ".join([f"{row.world}: {row.algorithm}", *over.values()]) + row.runtime
        found.setdefault(name, []).extend((place, value) for _, value in _value(results, row, of))
    return found


# -- words -----------------------------------------------------------------------------------------


def _words(value: float, of: Values) -> str:
    how = of.as_ if of.against or of.as_ == "difference" else ""
    text = in_words(value, measure(of.measure), how)
    return f"{text} ×" if how == "ratio" and math.isfinite(value) else text


def _listed(places: Sequence[Place], of: Values) -> str:
    return ", ".join(f"{_words(value, of)} ({name})" for name, value in places)


def _ranged(places: Sequence[Place], of: Values, *, singly: bool) -> str:
    """Return up to three values with their places, and of more values the least and the most."""
    if not places:
        return "nothing was measured"
    if len(places) == 1:
        return _words(places[0][1], of)
    if len(places) <= 3:
        return _listed(places, of)
    known = [place for place in places if not math.isnan(place[1])]
    if not singly and len(known) == len(places):
        mean = sum(value for _, value in places) / len(places)
        bound = any(isinstance(value, LowerBound) for _, value in places)
        told = _words(LowerBound(mean) if bound else mean, of)
        return f"{told} in the mean of {len(places)}"
    if not known:
        return _words(math.nan, of)
    ends = min(known, key=lambda place: place[1]), max(known, key=lambda place: place[1])
    missing = f", {len(places) - len(known)} missing" if len(known) < len(places) else ""
    return " to ".join(f"{_words(value, of)} ({name})" for name, value in ends) + missing
