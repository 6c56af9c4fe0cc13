"""The tables, figures and claims that a study's file declares, checked as a whole.

The file is `scenarios/papers/PAPER/NAME.yaml`. Its other keys are the player's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
import yaml

from ..errors import RunError
from .claim_rules import RULES
from .measures import MEASURED, UnknownMeasureError, measure

_PAPERS = Path(__file__).parents[2] / "scenarios" / "papers"
"""Folder of the studies, in a checkout and in an installed package alike."""

RELATIVE = ("fewer ", "gain ")
"""Begins of the names of columns that compare a row with the entry `base`."""
DIFFERENCE = "difference "
"""Begin of the names of columns that compare a row in containers with virtual time."""
RATE = "rate"
"""Name of the column with the learning rate."""
WORLDS = "worlds"
"""What `along` names if the worlds of a study are its grid."""

X_AXES = ("updates", "seconds", "epochs", "pushed", "pulled", "both")
Y_AXES = (
    *("accuracy", "error", "loss", *X_AXES[3:], "staleness", "divisor", "compression of KIND"),
    *(f"{key} of VARIABLE" for key in MEASURED),
)


class TableSpec(msgspec.Struct, forbid_unknown_fields=True):
    """A table with a line for each row, and a column for each measure."""

    columns: list[str | dict[str, str]]
    """Names of measures; `{HEADING: NAME}` gives a column a heading of its own."""
    title: str = ""
    """Sentence above the table, without its colon."""
    rows: Literal["best", "tried"] = "best"
    """Entries at their best rates with all seeds, or all rates that were tried."""
    worlds: list[str] | None = None
    entries: list[str] | None = None
    each: list[str] = []
    """Words that take the place of `{each}` in the columns, each in a line of its own. A line
    without any value is left out."""

    def measures(self) -> list[tuple[str, str]]:
        """Return the heading (empty if the name's own serves) and the name of each column."""
        pairs = [{"": held} if isinstance(held, str) else held for held in self.columns]
        return [pair for held in pairs for pair in held.items()]


class FigureSpec(msgspec.Struct, forbid_unknown_fields=True):
    """A figure: curves over a run, measures along a grid or over each other, or bars by entry."""

    name: str
    """End of the name of the file."""
    kind: Literal["curves", "along", "across", "bars"]
    x: str = "updates"
    """Axis of curves, or the measure that others are drawn over."""
    y: str | list[str] = "accuracy"
    """Axis of curves, or measures, each with a line of panels of its own."""
    along: str = ""
    """Name of the grid, or `worlds`."""
    panels: Literal["worlds", "entries", "none"] = "worlds"
    """What each column of panels shows one of."""
    zoom: list[str] = []
    """Ends of the y-axis, such as `[90%, 100%]`, of a further line of panels."""
    log: bool = False
    """Whether the x-axis of a figure along a grid, or over a measure, is logarithmic."""
    label: str = ""
    """Label of the x-axis of a figure along a grid; the grid's name if empty."""
    worlds: list[str] | None = None
    entries: list[str] | None = None
    caption: str = ""
    """Sentence for readers who do not see the figure; without figures of the results."""

    @property
    def rows_of_panels(self) -> list[str]:
        return [self.y] if isinstance(self.y, str) else self.y


class Values(msgspec.Struct, forbid_unknown_fields=True):
    """The values that a claim is judged by: a measure of entries, or a comparison."""

    measure: str
    entry: str | list[str]
    against: str | dict[str, str] = ""
    """Entry of the same world, or `{world: NAME}`, `{entry: NAME, world: NAME}`."""
    as_: Literal["ratio", "gain", "difference"] = msgspec.field(default="ratio", name="as")
    """`ratio` is how many times less than the other, `gain` how much more; `difference` is that of
    the entry in containers from virtual time."""


class Claim(msgspec.Struct, forbid_unknown_fields=True):
    """What a paper says, and the rule that judges whether it is reproduced."""

    claim: str
    rule: str
    where: str = ""
    """Place in the paper."""
    of: Values | None = None
    """None: the study's own module has the values."""
    worlds: list[str] | None = None
    along: str = ""
    """Name of a grid, or `worlds`: the rule judges the sequence along it."""
    bound: float | None = None
    reason: str = ""
    """Why the claim is not reproduced; without figures of the results."""


@dataclass(frozen=True)
class Declaration:
    """What a study's file says to readers of its results."""

    name: str
    paper: str
    """Name of the folder of the file, and of the page in the book."""
    question: str
    source: str
    base: str
    """Entry that `fewer` and `gain` compare with."""
    target: float
    also: Mapping[str, str]
    """The entry whose best rate an entry borrows, by the borrower."""
    tables: tuple[TableSpec, ...]
    figures: tuple[FigureSpec, ...]
    claims: Mapping[str, Claim]
    scenario: str
    """Name of the file of the base scenario."""


@cache
def declared(name: str) -> Declaration:
    """Return the declaration of the study `name`. Raises RunError with all mistakes of its file."""
    (file,) = _PAPERS.glob(f"*/{name}.yaml")
    return declaration(file)


@cache
def papers() -> Mapping[str, tuple[str, ...]]:
    """Return the names of the studies of each paper."""
    found: dict[str, list[str]] = {}
    for file in sorted(_PAPERS.glob("*/*.yaml")):
        found.setdefault(file.parent.name, []).append(file.stem)
    return {paper: tuple(names) for paper, names in found.items()}


def declaration(file: Path) -> Declaration:
    """Return the declaration in the study's `file`. Raises RunError with all its mistakes."""
    try:
        text = file.read_text(encoding="utf-8")
        keys: Any = yaml.safe_load(text)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise RunError(f"{file}: cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(keys, dict) or not {"name", "scenario"} <= keys.keys():
        raise RunError(f"{file}: not a study: it has no keys 'name' and 'scenario'")
    mistakes: list[str] = []
    tables = _parts(keys, "tables", TableSpec, mistakes)
    figures = _parts(keys, "figures", FigureSpec, mistakes)
    claims = {
        name: claim
        for name, plain in keys.get("claims", {}).items()
        if (claim := _part(f".claims.{name}", plain, Claim, mistakes))
    }
    question = keys.get("question") or _asked(text)
    found = Declaration(
        keys["name"],
        file.parent.name,
        question,
        keys.get("source", ""),
        keys.get("base", ""),
        keys.get("target", 1.0),
        dict(keys.get("also", [])),
        tuple(tables),
        tuple(figures),
        claims,
        Path(keys["scenario"]).name,
    )
    mistakes += dict.fromkeys(_wrong_measures(found))
    if mistakes:
        raise RunError("\n".join(f"{file}: {mistake}" for mistake in mistakes))
    return found


def _asked(text: str) -> str:
    """Return the question in the first comment of a study's file."""
    first = text.split("\n", 1)[0]
    return first.removeprefix("#").strip() if first.startswith("#") else ""


Part = TypeVar("Part")


def _parts(keys: Any, key: str, kind: type[Part], mistakes: list[str]) -> list[Part]:
    found = []
    for place, plain in enumerate(keys.get(key, [])):
        part = _part(f".{key}[{place}]", plain, kind, mistakes)
        found += [] if part is None else [part]
    return found


def _part(place: str, plain: Any, kind: type[Part], mistakes: list[str]) -> Part | None:
    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        mistakes.append(f"{place}: {error}")
        return None


# -- names in the parts ----------------------------------------------------------------------------


def _wrong_measures(found: Declaration) -> list[str]:
    """Return the mistakes in names of measures, axes and rules."""
    mistakes = []
    for place, table in enumerate(found.tables):
        for _, name in table.measures():
            for word in table.each or [""]:
                column = name.replace("{each}", word)
                mistakes += _mistakes(f".tables[{place}].columns", column, _column)
                if column.startswith(RELATIVE) and not found.base:
                    mistakes.append(f".tables[{place}].columns: {column!r} needs the key 'base'")
    for place, figure in enumerate(found.figures):
        at = f".figures[{place}]"
        if figure.kind in ("curves", "across"):
            x_axis = _x_axis if figure.kind == "curves" else measure
            mistakes += _mistakes(f"{at}.x", figure.x, x_axis)
        if figure.kind == "along" and not figure.along:
            mistakes.append(f"{at}: a figure along a grid needs the key 'along'")
        check = _y_axis if figure.kind == "curves" else measure
        for name in figure.rows_of_panels:
            mistakes += _mistakes(f"{at}.y", name, check)
    for name, claim in found.claims.items():
        if claim.rule not in RULES:
            mistakes.append(
                f".claims.{name}.rule: {claim.rule!r} is not a rule: {' or '.join(RULES)}"
            )
        elif (claim.bound is None) == RULES[claim.rule].bounded:
            asked = "needs" if claim.bound is None else "has no"
            mistakes.append(f".claims.{name}: the rule {claim.rule!r} {asked} key 'bound'")
        if claim.of:
            mistakes += _mistakes(f".claims.{name}.of.measure", claim.of.measure, measure)
            if claim.of.against and claim.of.as_ == "difference":
                mistakes.append(
                    f".claims.{name}.of.against: a difference is from virtual time: leave it out"
                )
    return mistakes


def _mistakes(place: str, name: str, check: Callable[[str], object]) -> list[str]:
    try:
        check(name)
    except UnknownMeasureError as error:
        return [f"{place}: {error}"]
    return []


def _column(name: str) -> None:
    """Raise UnknownMeasureError unless `name` is `rate`, a measure, or a comparison."""
    for begin in (*RELATIVE, DIFFERENCE):
        name = name.removeprefix(begin)
    if name != RATE:
        measure(name)


def _x_axis(name: str) -> None:
    if name not in X_AXES:
        raise UnknownMeasureError(f"{name!r} is not {' or '.join(X_AXES)}")


def _y_axis(name: str) -> None:
    if name.startswith(tuple(f"{key} of " for key in ("compression", *MEASURED))):
        measure(name)
    elif name not in Y_AXES:
        raise UnknownMeasureError(f"{name!r} is not {' or '.join(Y_AXES)}")
