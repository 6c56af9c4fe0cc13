"""The look of lines: a colour, a marker and a dash for each algorithm, and for any other name.

Algorithms, codecs, schedules, aggregations and synchronizations look alike in all figures. The
colours differ in lightness, for grey print, and to people with each kind of colour blindness.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, NamedTuple
from zlib import crc32

import pandas as pd

COLOURS = ("#01029E", "#CE3D01", "#126547", "#67A6F7", "#642579", "#E3B505", "#D96195", "#1A180B")
MARKERS = ("o", "D", "^", "s", "v", "P", "X", "p", "<", ">")
DASHES: tuple[tuple[float, ...], ...] = (
    (),
    (5, 2),
    (1.2, 1.6),
    (6, 2, 1.2, 2),
    (9, 2.5),
    (3, 1.5),
    (6, 2, 1.2, 2, 1.2, 2),
    (1.2, 3.5),
)
"""Lengths of strokes and gaps, in widths of the line; the first is solid."""

_FIRST_DASHES = (0, 0, 1, 1, 2, 0, 2, 1)
"""Dash of each colour: colours of neighbouring lightness have different ones."""
_DASHES = 4
"""Number of dashes of styles; the others are for seeds."""
_ROUNDS = 20
"""Number of styles of each colour."""

_FAMILIES = {
    "algorithms": ("asgd", "adacomp", "ada-sgd", "comp-asgd", "bsp", "ssp", "adacomp-ef"),
    "codecs": (
        *("dense", "adacomp-residual", "topk", "strom", "dryden", "dgc", "terngrad", "qsgd"),
        *("ef-signsgd", "signsgd", "onebit", "randomk", "threshold"),
        *("topk-ef", "threshold-ef", "randomk-ef"),
    ),
    "schedules": ("sequential", "dynacomm", "layer-by-layer", "ibatch"),
    "aggregations": ("mean", "krum", "median", "trimmed-mean", "multi-krum", "norm-clip"),
    "synchronizations": (
        *("asynchronous", "barrier", "bounded", "softsync", "groups", "fedavg", "local-sgd"),
    ),
    "modulations": ("constant", "per-parameter", "staleness", "history"),
    "pulls": ("dense", "delta"),
}
"""Names with a style of their own, by family; the baseline of a family comes first."""
_NUMBERS = {name: number for names in _FAMILIES.values() for number, name in enumerate(names)}
_KNOWN = re.compile(
    r"(?<![\w-])("
    + "|".join(name.replace("-", "[- ]") for name in sorted(_NUMBERS, key=len, reverse=True))
    + r")(?![\w-])",
    re.IGNORECASE,
)

_RUNTIME = re.compile(r" · (?:docker|virtual)$|, in containers$")
"""End of the name of a setting that was played by both runtimes."""

_APART, _ALL = 0.2, 24
"""Distance of markers on a line with many points, and number of points that are many."""


class LineStyle(NamedTuple):
    """The look of a line."""

    colour: str
    marker: str
    dash: int
    """Number of the dash in `DASHES`."""

    @property
    def stroke(self) -> dict[str, Any]:
        """Colour and dash, as keywords of `Axes.plot` and of patches."""
        dash = DASHES[self.dash % len(DASHES)]
        return {"color": self.colour, "linestyle": (0, dash) if dash else "-"}

    def marked(self, points: int, place: int = 0) -> dict[str, Any]:
        """Return the keywords of `Axes.plot` for a line of `points` with a few markers.

        Lines of different `place` have their markers at different points.
        """
        every: Any = 1
        if points > _ALL:  # apart by shares of the figure's diagonal, as points may be dense
            every = (_APART * (0.2 + 0.3 * place % 1), _APART)
        return {**self.stroke, "marker": self.marker, "markersize": 4, "markevery": every}


def line_styles(names: Iterable[Hashable]) -> dict[Hashable, LineStyle]:
    """Return a style for each of `names`, no two alike.

    A name has the style of the known name that it begins with or holds. Variants of an algorithm
    (`AdaComp 1 %`, `AdaComp 0.1 %`), and the runtimes of a setting (`mine · docker`, `mine ·
    virtual`), share its colour and marker, and have different dashes.
    """
    ordered = list(dict.fromkeys(names))
    chosen: dict[Hashable, LineStyle] = {}
    shared: dict[str, LineStyle] = {}
    # names without a style of their own take those that are left
    for name in sorted(ordered, key=lambda name: _number(str(name)) is None):
        setting = _RUNTIME.sub("", str(name))
        like = _dashed(shared[setting]) if setting in shared else []
        chosen[name] = _first_free([*like, *_candidates(setting)], list(chosen.values()))
        shared.setdefault(setting, chosen[name])
    return {name: chosen[name] for name in ordered}


def series(count: int) -> list[LineStyle]:
    """Return the first `count` styles, for lines whose names have no styles of their own."""
    return [_style(number) for number in range(count)]


def run_styles(table: pd.DataFrame) -> dict[Hashable, LineStyle]:
    """Return a style for each run of `table`, which has the columns `run` and `setting`.

    Runs of a setting differ in the seed only: they share colour and marker, and each has a dash.
    """
    runs = table[["run", "setting"]].drop_duplicates()
    styles = line_styles(runs["setting"])
    seeds, places = runs["setting"].value_counts(), runs.groupby("setting").cumcount()
    return {
        run: styles[setting] if seeds[setting] == 1 else styles[setting]._replace(dash=place)
        for run, setting, place in zip(runs["run"], runs["setting"], places, strict=True)
    }


def _number(name: str) -> int | None:
    """Return the number of the style of the first known name in `name`, or None without one."""
    match = _KNOWN.search(name)
    return _NUMBERS[match[1].lower().replace(" ", "-")] if match else None


def _style(number: int) -> LineStyle:
    """Return the style `number`; the first eight have different colours."""
    again, colour = divmod(number, len(COLOURS))
    marker = MARKERS[(colour + 3 * again) % len(MARKERS)]
    return LineStyle(COLOURS[colour], marker, (_FIRST_DASHES[colour] + again) % _DASHES)


def _dashed(style: LineStyle) -> list[LineStyle]:
    """Return `style` with each of the dashes, its own first."""
    return [style._replace(dash=(style.dash + more) % _DASHES) for more in range(_DASHES)]


def _candidates(name: str) -> Iterator[LineStyle]:
    """Yield the styles for `name`, the best first."""
    number = _number(name)
    if number is not None:
        yield from _dashed(_style(number))
    begin, count = crc32(name.encode(errors="backslashreplace")), len(COLOURS)
    for again in range(_ROUNDS):
        yield from (_style(again * count + (begin + more) % count) for more in range(count))


def _first_free(candidates: list[LineStyle], taken: list[LineStyle]) -> LineStyle:
    """Return the first of `candidates` unlike all `taken` styles without markers, else with them.

    If there is none, return the first of all.
    """
    looks: tuple[Callable[[LineStyle], Hashable], ...] = (
        lambda style: (style.colour, style.dash),
        lambda style: style,
    )
    for look in looks:
        seen = set(map(look, taken))
        if free := next((style for style in candidates if look(style) not in seen), None):
            return free
    return candidates[0]
