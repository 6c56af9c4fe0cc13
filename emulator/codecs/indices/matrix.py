"""Coding `matrix`: the rows and columns in use of each variable, then the set among the crossings.

Gradients are sums of outer products: a silent input leaves its whole row zero, a silent unit its
column. So the largest entries of a dense layer lie in few rows and columns, and half as many bits
are enough. Each of the three sets is in Golomb's code.
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
"""Number of rows or of columns in use, at the head of the frame."""
_HEAD = 2 * _COUNT.itemsize
_Integers = NDArray[np.int64]


def encode(indices: Indices, layout: Layout) -> bytes:
    if not indices.size:
        return b""
    shapes = _shapes(layout)
    ends = indices.searchsorted(shapes.stops)
    variable = np.arange(ends.size).repeat(np.diff(ends, prepend=0))  # number of each index's
    row, column = np.divmod(indices - shapes.starts[variable], shapes.widths[variable])
    # rows and columns are numbered through the whole model, so that one set holds all variables'
    row += shapes.rows[variable]
    column += shapes.columns[variable]
    rows, columns = _distinct(row, shapes.rows[-1]), _distinct(column, shapes.columns[-1])
    crossings = _Crossings.of(shapes, rows, columns)
    # number of each index among the crossings: row-major within its variable, variables in order
    inner = (_rank(row, rows) - crossings.rows[variable]) * crossings.widths[variable]
    inner += _rank(column, columns) - crossings.columns[variable]
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
        numbers, length = golomb.read(stream, count, int(size))
        sets.append(numbers.astype(np.int64))
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
    # each set has one spelling: a row or column that is listed must be used
    if not (_covers(row, rows.size) and _covers(column, columns.size)):
        raise WireError("a row or a column without any index")
    indices = (rows[row] - shapes.rows[variable]) * shapes.widths[variable]
    indices += columns[column] - shapes.columns[variable] + shapes.starts[variable]
    if (indices >= shapes.stops[variable]).any():  # the last row of a folded vector is short
        raise WireError("an index beyond its variable")
    return indices.astype(np.uint32)


def least(entries: int, layout: Layout) -> int:
    return 0


def header(frame: Buffer) -> int:
    return min(len(frame), _HEAD)


class _Shapes(NamedTuple):
    """Matrices of the variables: position, width, and numbers of the first row and column."""

    starts: _Integers
    """First parameter of each variable."""
    stops: _Integers
    """Parameter after the last of each variable."""
    widths: _Integers
    """Columns of each variable's matrix."""
    rows: _Integers
    """First row of each variable, numbered through the model; the last item is the total."""
    columns: _Integers
    """First column of each variable, numbered through the model; the last item is the total."""


class _Crossings(NamedTuple):
    """Matrices of the variables, reduced to rows and columns in use."""

    starts: _Integers
    """First crossing of each variable; the last item is the total."""
    widths: _Integers
    """Columns in use of each variable."""
    rows: _Integers
    """Number of used rows before each variable."""
    columns: _Integers
    """Number of used columns before each variable."""

    @classmethod
    def of(cls, shapes: _Shapes, rows: _Integers, columns: _Integers) -> "_Crossings":
        """Return the crossings of `rows` and `columns`, the ascending numbers in use."""
        first_row, first_column = (
            rows.searchsorted(shapes.rows),
            columns.searchsorted(shapes.columns),
        )
        widths = np.diff(first_column)
        sizes = np.diff(first_row) * widths
        return cls(np.concatenate([[0], sizes.cumsum()]), widths, first_row, first_column)


def _shapes(layout: Layout) -> _Shapes:
    """Return the matrices of the variables of `layout`."""
    bounds = np.array(layout.bounds, np.int64)
    widths = np.array([_width(variable) for variable in layout.variables], np.int64)
    heights = -(-(bounds[:, 1] - bounds[:, 0]) // widths)
    firsts = [np.concatenate([[0], sizes.cumsum()]) for sizes in (heights, widths)]
    return _Shapes(bounds[:, 0], bounds[:, 1], widths, *firsts)


def _width(variable: Variable) -> int:
    """Return the last dimension of `variable`; a vector becomes a square with a short last row."""
    if len(variable.shape) > 1:
        return max(1, variable.shape[-1])
    return math.isqrt(max(0, variable.size - 1)) + 1


def _distinct(numbers: _Integers, size: int) -> _Integers:
    """Return the distinct `numbers` in ascending order; they lie below `size`."""
    # a flag a number instead of a sort: linear, and ascending as it is
    flags = np.zeros(size, np.bool_)
    flags[numbers] = True
    return np.flatnonzero(flags)


def _rank(numbers: _Integers, marked: _Integers) -> _Integers:
    """Return the rank of every number among `marked`, which ascends and holds all `numbers`."""
    ranks = np.empty(marked[-1] + 1, np.int64)
    ranks[marked] = np.arange(marked.size)
    return ranks[numbers]


def _covers(numbers: _Integers, size: int) -> bool:
    """Return whether every number below `size` occurs in `numbers`."""
    return _distinct(numbers, size).size == size
