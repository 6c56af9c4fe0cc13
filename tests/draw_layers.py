"""Draw docs/layers.svg from the imports of `emulator/`: `make layers`.

A square of parts: a dot says that the part of its row imports the part of its column. Layers are
framed, highest first, so every dot stands in a frame or to the right of one.
"""

from itertools import pairwise

from tests.layers import LAYERS, ROOT, part_imports

PICTURE = ROOT / "docs" / "layers.svg"

CELL = 24  # pixels, as are all lengths here
LEFT, TOP, EDGE = 250, 130, 12
"""Room for the labels of rows and of columns, and around the picture."""
INK, SOFT, FRAME, DOT = "#24292f", "#6e7781", "#dbe9f9", "#0b5cad"
LEAVES = "leaves"
DOORS = ("__init__", "__main__")
"""Modules of no layer, through which users import and start the package."""


def picture() -> str:
    """Return the SVG of all imports between parts."""
    rows = _rows()
    names = [part for parts in rows.values() for part in parts]
    place = {part: number for number, part in enumerate(names)}
    side = CELL * len(names)
    width, height = LEFT + side + EDGE, TOP + side + EDGE
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="13" fill="{INK}">',
        "<title>Imports of emulator/: a dot says that the row's part imports the column's.</title>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{LEFT - 8}" y="{TOP - 10}" text-anchor="end" fill="{SOFT}">'
        "a part imports →</text>",
        *_layers(rows),
        *(_grid_line(number, side) for number in range(len(names) + 1)),
        *(_labels(part, number) for part, number in place.items()),
        *(
            f'<circle cx="{_middle(LEFT, place[imported])}" cy="{_middle(TOP, place[importer])}" '
            f'r="5" fill="{DOT}"><title>{importer} imports {imported}</title></circle>'
            for importer, imported in sorted(_arrows())
        ),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _rows() -> dict[str, tuple[str, ...]]:
    """Return layer: parts, the highest layer first; the leaves are drawn as one part."""
    return {
        layer: (LEAVES,) if layer == LEAVES else parts for layer, parts in reversed(LAYERS.items())
    }


def _arrows() -> set[tuple[str, str]]:
    """Return (importer, imported) for each pair of parts as they are drawn."""
    drawn = dict.fromkeys(LAYERS[LEAVES], LEAVES)
    pairs = {(drawn.get(one, one), drawn.get(other, other)) for one, other in part_imports()}
    return {(one, other) for one, other in pairs if one != other and one not in DOORS}


def _layers(rows: dict[str, tuple[str, ...]]) -> list[str]:
    """Return the frame and the name of each layer."""
    ends = [0]
    for parts in rows.values():
        ends.append(ends[-1] + len(parts))
    return [
        f'<rect x="{LEFT + CELL * begin}" y="{TOP + CELL * begin}" width="{CELL * (end - begin)}" '
        f'height="{CELL * (end - begin)}" fill="{FRAME}"/>'
        f'<text x="{EDGE}" y="{_middle(TOP, begin) + 5}" font-weight="bold">{layer}</text>'
        f'<path d="M{EDGE} {TOP + CELL * begin}H{LEFT}" stroke="{SOFT}"/>'
        for layer, (begin, end) in zip(rows, pairwise(ends), strict=True)
    ]


def _grid_line(number: int, side: int) -> str:
    at = CELL * number
    return (
        f'<path d="M{LEFT} {TOP + at}h{side}M{LEFT + at} {TOP}v{side}" '
        'stroke="#d0d7de" stroke-width="0.5"/>'
    )


def _labels(part: str, number: int) -> str:
    """Return the name of `part` at its row and, turned, above its column."""
    x, y = _middle(LEFT, number), _middle(TOP, number)
    return (
        f'<text x="{LEFT - 8}" y="{y + 5}" text-anchor="end">{part}</text>'
        f'<text transform="translate({x + 4} {TOP - 8}) rotate(-60)">{part}</text>'
    )


def _middle(start: int, number: int) -> int:
    return start + CELL * number + CELL // 2


if __name__ == "__main__":
    PICTURE.write_text(picture())
