"""The rows and columns of each variable's matrix that occur, then the set among their crossings.

Gradients are sums of outer products: an input that is silent leaves its whole row zero, a unit
that is silent its column. So the largest entries of a dense layer lie in few rows and columns,
and half as many bits are enough. Each of the three sets is in Golomb's code.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import WireError
from ...layout import Layout, Variable
from ...vectors import Buffer, Indices
from . import golomb

_COUNT = np.dtype("<u4")
_HEAD = 2 * _COUNT.itemsize
_Integers = NDArray[np.int64]


def encode(indices: Indices, layout: Layout) -> bytes:
    if not indices.size:
        return b""
    shapes = _shapes(layout)
    ends = indices.searchsorted(shapes.stops)
    variable = np.arange(ends.size).repeat(np.diff(ends, prepend=0))
    row, column = np.divmod(indices - shapes.starts[variable], shapes.widths[variable])
    row += shapes.rows[variable]
    column += shapes.columns[variable]
    rows, columns = _marked(row, shapes.rows[-1]), _marked(column, shapes.columns[-1])
    crossings = _Crossings.of(shapes, rows, columns)
    inner = (_place(row, rows) - crossings.rows[variable]) * crossings.widths[variable]
    inner += _place(column, columns) - crossings.columns[variable]
    inner += crossings.starts[variable]
    counts = np.array([rows.size, columns.size], _COUNT)
    parts = (rows, shapes.rows[-1]), (columns, shapes.columns[-1]), (inner, crossings.starts[-1])
    written = [golomb.write(part.astype(np.uint32), int(size)) for part, size in parts]
    return b"".join([counts.tobytes(), *written])


def decode(frame: Buffer, entries: int, layout: Layout) -> Indices:
    if not entries and not len(frame):
        return np.empty(0, np.uint32)
    if len(frame) < _HEAD or not entries:
        raise WireError(f"{len(frame)} bytes of rows and columns for {entries} values")
    shapes = _shapes(layout)
    stream, sets = np.frombuffer(frame, np.uint8)[_HEAD:], []
    counts = np.frombuffer(frame, _COUNT, 2).tolist()
    for count, size in zip(counts, (shapes.rows[-1], shapes.columns[-1]), strict=True):
        one, length = golomb.read(stream, count, int(size))
        sets.append(one.astype(np.int64))
        stream = stream[length:]
    rows, columns = sets
    crossings = _Crossings.of(shapes, rows, columns)
    inner, length = golomb.read(stream, entries, int(crossings.starts[-1]))
    if length != stream.size:
        raise WireError(f"{len(frame)} bytes of rows and columns for {entries} values")
    variable = crossings.starts.searchsorted(inner, "right") - 1
    row, column = np.divmod(inner - crossings.starts[variable], crossings.widths[variable])
    row += crossings.rows[variable]
    column += crossings.columns[variable]
    if not (_all(row, rows.size) and _all(column, columns.size)):
        raise WireError("a row or a column without any index")
    indices = (rows[row] - shapes.rows[variable]) * shapes.widths[variable]
    indices += columns[column] - shapes.columns[variable] + shapes.starts[variable]
    if (indices >= shapes.stops[variable]).any():
        raise WireError("an index beyond its variable")
    return indices.astype(np.uint32)


def least(entries: int, layout: Layout) -> int:
    return 0


def header(frame: Buffer) -> int:
    return min(len(frame), _HEAD)


class _Shapes(NamedTuple):
    """Of each variable: where it lies, and its first row and column among those of all."""

    starts: _Integers
    stops: _Integers
    widths: _Integers
    rows: _Integers
    columns: _Integers


class _Crossings(NamedTuple):
    """Of each variable: the same, among the rows and columns that occur."""

    starts: _Integers
    widths: _Integers
    rows: _Integers
    columns: _Integers

    @classmethod
    def of(cls, shapes: _Shapes, rows: _Integers, columns: _Integers) -> "_Crossings":
        first_row, first_column = (
            rows.searchsorted(shapes.rows),
            columns.searchsorted(shapes.columns),
        )
        widths = np.diff(first_column)
        sizes = np.diff(first_row) * widths
        return cls(np.concatenate([[0], sizes.cumsum()]), widths, first_row, first_column)


def _shapes(layout: Layout) -> _Shapes:
    bounds = np.array(layout.bounds, np.int64)
    widths = np.array([_width(variable) for variable in layout.variables], np.int64)
    heights = -(-(bounds[:, 1] - bounds[:, 0]) // widths)
    first = [np.concatenate([[0], sizes.cumsum()]) for sizes in (heights, widths)]
    return _Shapes(bounds[:, 0], bounds[:, 1], widths, *first)


def _width(variable: Variable) -> int:
    """The last dimension; a vector is folded into a square, its last row short."""
    if len(variable.shape) > 1:
        return max(1, variable.shape[-1])
    return math.isqrt(max(0, variable.size - 1)) + 1


def _marked(numbers: _Integers, size: int) -> _Integers:
    """Those below `size` that occur, ascending."""
    flags = np.zeros(size, np.bool_)
    flags[numbers] = True
    return np.flatnonzero(flags)


def _place(numbers: _Integers, marked: _Integers) -> _Integers:
    """Which of those that are `marked` each number is."""
    places = np.empty(marked[-1] + 1, np.int64)
    places[marked] = np.arange(marked.size)
    return places[numbers]


def _all(numbers: _Integers, size: int) -> bool:
    return _marked(numbers, size).size == size
