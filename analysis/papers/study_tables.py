"""Tables of a study, as its file declares them."""

from .declaration import TableSpec
from .folder import Row, worlds
from .markdown import table
from .measures import heading
from .results import UNKNOWN, Results, chosen


def tables(results: Results) -> list[str]:
    """Return the tables that the study's file declares, in Markdown, each below its title."""
    made = [(spec.title, _table(results, spec)) for spec in results.declared.tables]
    return [f"{title}:\n\n{text}" if title else text for title, text in made]


def _table(results: Results, spec: TableSpec) -> str:
    source = results.study.rows if spec.rows == "best" else results.study.tried
    rows = _by_world(chosen(source, spec.worlds, spec.entries))
    several = len(worlds(rows))
    lines = []
    for row in rows:
        name = results.title(row, worlds=several)
        for word in spec.each or [""]:
            cells = [
                results.cell(row, column.replace("{each}", word)) for _, column in spec.measures()
            ]
            if not word or any(cell != UNKNOWN for cell in cells):
                lines.append([f"{name}, {word}" if word else name, *cells])
    heads = [head or heading(column) for head, column in spec.measures()]
    return table(["", *heads], lines)


def _by_world(rows: list[Row]) -> list[Row]:
    """Return `rows` with those of a world together, the worlds in their order."""
    order = worlds(rows)
    return sorted(rows, key=lambda row: order.index(row.world))
