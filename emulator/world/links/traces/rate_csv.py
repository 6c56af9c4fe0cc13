"""CSV files of rate, delay and loss over time.

The header names the columns: `seconds`, and any of `rate`, `delay` and `loss`. Values have a unit,
as `8mbit`, `40ms` and `1%`, or the column's name has it: `rate_mbit`, `delay_ms`, `loss_%`. An
empty cell is unknown, and `-` holds the value before, or at first the first known one. A value
holds from its time until the next row; times count from the first row's; rows of the same time are
averaged. A last row `60,end` tells the end; without one the last row holds as long as the row
before.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from ....errors import shortened
from ....units import Fraction, Quantity, Rate, Seconds
from .base import Lines, Rows, TraceFormat, TraceLineError, Way, cells, decimal, shifted
from .link_trace import END, UNKNOWN, LinkTrace, Sample

TIME = "seconds"
_HEADER = f"expected a header as `{TIME},rate,delay,loss` or `{TIME},rate_mbit,delay_ms`"


class _TraceRate(Rate):
    """A rate, or zero."""

    @classmethod
    def _checked(cls, value: float, text: object) -> "_TraceRate":
        return cls(Quantity._checked.__func__(Quantity, value, text))  # type: ignore[attr-defined]


_TYPES: dict[str, type[Quantity]] = {"rate": _TraceRate, "delay": Seconds, "loss": Fraction}


class _Column(NamedTuple):
    """A column of values: name of the value, and the unit that its cells do not repeat."""

    name: str
    unit: str

    def read(self, line: int, cell: str) -> float | None:
        """Return the value of `cell` in base units; None for an empty one."""
        if not cell:
            return None
        if self.unit:
            decimal(line, cell, f"{self.name} in {self.unit}, as the header says")
        try:
            return float(_TYPES[self.name].parse(f"{cell}{self.unit}"))
        except ValueError as error:
            raise TraceLineError(line, f"{self.name}: {error}") from None


def _read(lines: Lines, way: Way) -> LinkTrace:
    content = list(lines)
    line, header = content[0] if content else (None, "")
    columns = _columns(line, header)
    rows, end, before = Rows(), None, _first_known(content[1:], columns)
    for line, text in content[1:]:
        time, *values = cells(text, 1 + len(columns))
        if end is not None:
            raise TraceLineError(line, f"{shortened(text)} follows the {END}")
        at = float(decimal(line, time, f"{TIME}, a number"))
        if values and values[0].lower() == END and not any(values[1:]):
            end = at, line
            continue
        before = _row(line, at, values, columns, before)
        rows.add(before, line)
    return rows.trace(*(end or (None,)))


def _first_known(rows: Sequence[tuple[int, str]], columns: Sequence[_Column]) -> Sample:
    """Return the first known value of each of `columns` that begins with `-`."""
    found: dict[str, float | None] = {}
    width = 1 + len(columns)
    first = cells(rows[0][1], width) if rows else []
    for place, column in enumerate(columns, 1):
        if len(first) != width or first[place] != UNKNOWN:
            continue
        for line, text in rows:
            cell = "".join(cells(text, width)[place : place + 1])  # the end has fewer cells
            if cell not in ("", UNKNOWN):
                with suppress(TraceLineError):  # mistakes are found row by row, the first one first
                    found[column.name] = column.read(line, cell)
                break
    return Sample(0.0, **found)


def _row(
    line: int, at: float, values: Sequence[str], columns: Sequence[_Column], before: Sample
) -> Sample:
    """Return the sample of a row; a value `-` is that of the sample `before`."""
    if len(values) != len(columns):
        found = f"{len(values) + 1} columns"
        raise TraceLineError(line, f"{found}: expected the header's {len(columns) + 1}")
    read = {
        column.name: getattr(before, column.name) if cell == UNKNOWN else column.read(line, cell)
        for column, cell in zip(columns, values, strict=True)
    }
    return Sample(at, **read)


def _columns(line: int | None, header: str) -> list[_Column]:
    """Return the columns of values that `header` names. Raises TraceLineError."""
    first, *names = [name.lower() for name in cells(header)]
    columns = [_Column(*name.partition("_")[::2]) for name in names]
    known = all(column.name in _TYPES for column in columns)
    if first != TIME or not columns or not known or len({c.name for c in columns}) < len(columns):
        raise TraceLineError(line, f"{shortened(header)}: {_HEADER}")
    columns = [column._replace(unit=column.unit.replace("percent", "%")) for column in columns]
    for column in columns:
        units = _TYPES[column.name].units
        if column.unit and column.unit not in units:
            raise TraceLineError(
                line, f"column {column.name}_{column.unit}: its unit is not {' or '.join(units)}"
            )
    return columns


def _write(trace: LinkTrace, way: Way) -> str:
    known = {
        name: any(getattr(sample, name) is not None for sample in trace.samples) for name in _TYPES
    }
    names = [name for name, is_known in known.items() if is_known] or ["rate"]
    lines = [",".join([TIME, *names])]
    for sample in trace.samples:
        values = [_cell(_TYPES[name], getattr(sample, name)) for name in names]
        lines.append(",".join([shifted(sample.at, 0), *values]))
    return "\n".join([*lines, f"{shifted(trace.end, 0)},{END}", ""])


def _cell(kind: Callable[[float], Quantity], value: float | None) -> str:
    return "" if value is None else str(kind(value))


RATE_CSV = TraceFormat(
    about=f"rows of {TIME} and rate, delay or loss, below a header that names them",
    fits=lambda line: cells(line)[0].lower().startswith(TIME),
    read=_read,
    write=_write,
)
