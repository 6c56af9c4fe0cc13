"""Tables (.csv and .parquet): a row for each example, with a label column."""

import csv
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..examples import Array
from .data_mistakes import DataMistakes, Place
from .own_dataset import Kind, OwnDataset
from .read_data import GivenOwners, GivenPart, ReadData

_PARQUET = (
    "a Parquet file needs pyarrow, which is not installed: pip install 'edge-emulate[parquet]', or "
    "write a .csv file"
)


_OTHERS = (";", "\t", "|")
"""Marks that part the cells of tables of other programs."""


@dataclass(frozen=True)
class TablePlaces:
    """Places in a table: the line of a CSV file or the row of another one, and the column."""

    file: str
    columns: tuple[str, ...]
    labels: tuple[str, ...]

    def input(self, row: int | None = None, position: int | None = None) -> Place:
        if row is None or position is None:
            return Place(self.file)
        return self.cell(self.columns[position], row)

    def label(self, row: int | None = None) -> Place:
        column = self.labels[0]
        return Place(self.file, None, (column,)) if row is None else self.cell(column, row)

    def cell(self, column: str, row: int) -> Place:
        """Return the place of the cell in `column` of the example `row`."""
        if Path(self.file).suffix.lower() == ".csv":
            return Place(self.file, self._lines[row], (column,))
        return Place(self.file, None, (column, row))

    @cached_property
    def _lines(self) -> list[int]:
        """Line of each row: a cell in quotes may hold line breaks, and empty lines are no rows."""
        with Path(self.file).open(encoding="utf-8", newline="") as text:
            reader, lines, before = csv.reader(text), list[int](), 0
            for cells in reader:
                if cells:
                    lines.append(before + 1)
                before = reader.line_num
        return lines[1:]


def read_tables(own: OwnDataset) -> ReadData:
    """Return the rows of the table, and those of the table for the test. Raises OwnDataError."""
    mistakes = DataMistakes()
    files = [file for file in (own.file, own.test_file) if file is not None]
    frames = [_frame(Path(file), mistakes) for file in files]
    mistakes.require_none()
    others = set(own.labels) | ({own.owners} - {None})
    columns = tuple(name for name in frames[0].columns if name not in others)
    parts = []
    for file, frame in zip(files, frames, strict=True):
        needed = [*own.labels, *columns]
        if own.owners is not None and file == own.file:
            needed.append(own.owners)
        if _has_columns(file, frame, needed, mistakes):
            parts.append(_part(own, file, frame, columns, mistakes))
    owners = None
    if own.owners is not None and own.owners in frames[0]:
        owners = _owners(
            own.owners, frames[0], TablePlaces(own.file, columns, own.labels), mistakes
        )
    mistakes.require_none()
    kind: Kind = "vectors" if own.size is None else "images"
    return ReadData(parts[0], parts[1] if len(parts) > 1 else None, owners, kind=kind)


def _owners(name: str, frame: Any, places: TablePlaces, mistakes: DataMistakes) -> GivenOwners:
    def at(row: int | None) -> Place:
        return Place(places.file, None, (name,)) if row is None else places.cell(name, row)

    return GivenOwners(_texts(frame[name], name, places, mistakes), at)


def _frame(path: Path, mistakes: DataMistakes) -> Any:
    """Return the table at `path` as a data frame; None after a mistake."""
    import pandas  # only here: it takes half a second, and most commands read no table

    try:
        if path.suffix.lower() == ".parquet":
            return pandas.read_parquet(path, engine="pyarrow")
        if not _heading_is_good(path, mistakes):
            return None
        with warnings.catch_warnings():
            # too many cells in a row are a warning, and would be cut off
            warnings.simplefilter("error", pandas.errors.ParserWarning)
            frame = pandas.read_csv(
                path,
                index_col=False,
                low_memory=False,
                keep_default_na=False,
                na_values=[""],
                skipinitialspace=True,
            )
        if frame.isna().to_numpy().any() and _note_uneven_rows(path, mistakes):
            return None
        return frame.rename(columns=str.strip)
    except ImportError:
        mistakes.add(Place(str(path)), _PARQUET)
    except (pandas.errors.ParserWarning, pandas.errors.ParserError) as error:
        if not _note_uneven_rows(path, mistakes):
            mistakes.add(Place(str(path)), f"is no table that can be read: {error}")
    except UnicodeDecodeError as error:
        mistakes.add(Place(str(path)), f"is no text in UTF-8: {error.reason} at byte {error.start}")
    except (ValueError, OSError) as error:  # pyarrow's and pandas' own errors are ValueErrors
        reason = " ".join(str(error).split())
        mistakes.add(Place(str(path)), f"is no table that can be read: {reason}")
    return None


def _note_uneven_rows(path: Path, mistakes: DataMistakes) -> bool:
    """Note each row of the CSV file at `path` with more or fewer cells than the heading, and a
    quote without an end. Return whether anything was noted."""
    uneven, columns, line, whole = dict[int, int](), 0, 0, True
    with path.open(encoding="utf-8", newline="") as text:
        reader = csv.reader(text, strict=True)
        try:
            for cells in reader:
                columns, line = columns or len(cells), reader.line_num
                if cells and len(cells) != columns:
                    uneven[line] = len(cells)
        except csv.Error as unread:
            whole = False
            mistakes.add(Place(str(path), line + 1), _unended(unread))
    mistakes.add_each(
        list(uneven),
        lambda line: Place(str(path), line),
        lambda line: f"has {uneven[line]} cells, and the first line names {columns} columns",
    )
    return bool(uneven) or not whole


def _unended(error: csv.Error) -> str:
    return f"begins a row that cannot be read: {error}: a quote may lack its end"


def _heading_is_good(path: Path, mistakes: DataMistakes) -> bool:
    """Note a mistake unless the first line of the CSV file at `path` names each column once."""
    place = Place(str(path), 1)
    with path.open(encoding="utf-8-sig", newline="") as text:
        try:
            names = next(csv.reader(text), [])
        except csv.Error as error:
            mistakes.add(place, _unended(error))
            return False
    names = [name.strip() for name in names]
    twice = sorted({name for name in names if names.count(name) > 1})
    if not names:
        mistakes.add(place, "is empty: the names of the columns were expected")
    elif len(names) == 1 and (marks := [mark for mark in _OTHERS if mark in names[0]]):
        mistakes.add(place, f"is parted by {marks[0]!r}: cells are parted by commas")
    elif "" in names:
        mistakes.add(place, f"column {names.index('') + 1} has no name")
    elif twice:
        mistakes.add(place, f"names the column {twice[0]!r} twice")
    else:
        return True
    return False


def _has_columns(file: str, frame: Any, needed: Iterable[str], mistakes: DataMistakes) -> bool:
    known = [str(name) for name in frame.columns]
    missing = [name for name in needed if name not in known]
    for name in missing:
        listed = ", ".join(known[:8]) + (", …" if len(known) > 8 else "")
        mistakes.add(Place(file), f"has no column {name!r}: it has {listed}")
    return not missing


def _part(
    own: OwnDataset, file: str, frame: Any, columns: tuple[str, ...], mistakes: DataMistakes
) -> GivenPart:
    places = TablePlaces(file, columns, own.labels)
    if not columns:
        mistakes.add(Place(file), "has no column beside the labels: inputs were expected")
    numbers = [_numbers(frame[name], name, places, mistakes) for name in columns]
    inputs = np.stack(numbers, 1) if numbers else np.zeros((len(frame), 0))
    if own.size is not None:
        inputs = _folded(inputs, own.size, places, mistakes)
    return GivenPart(inputs, _labels(own, frame, places, mistakes), places)


def _numbers(column: Any, name: str, places: TablePlaces, mistakes: DataMistakes) -> Array:
    """Return the cells of `column` as numbers, after noting each cell that is none."""
    import pandas

    empty = column.isna().to_numpy()
    numbers = column
    if column.dtype.kind in "mM":  # pandas would count the nanoseconds of times
        numbers = pandas.Series(np.nan, column.index)
    elif not pandas.api.types.is_numeric_dtype(column):
        numbers = pandas.to_numeric(column, errors="coerce")
    values: Array = numbers.to_numpy(dtype=None if numbers.dtype.kind in "bui" else np.float64)
    rows = np.flatnonzero(~np.isfinite(values.astype(np.float64)))

    def message(row: int) -> str:
        if empty[row]:
            return "is empty: a number was expected"
        return f"{_short(column.iloc[row])} is not a finite number"

    mistakes.add_each(rows.tolist(), lambda row: places.cell(name, row), message)
    return values


def _short(cell: object) -> str:
    text = " ".join(repr(cell.item() if isinstance(cell, np.generic) else cell).split())
    return text if len(text) <= 60 else f"{text[:60]}…"


def _folded(
    inputs: Array, size: tuple[int, int], places: TablePlaces, mistakes: DataMistakes
) -> Array:
    """Return rows as images of `size`, with as many channels as the columns give."""
    height, width = size
    channels, left = divmod(inputs.shape[1], height * width)
    if left or not channels:
        mistakes.add(
            places.input(),
            f"has {inputs.shape[1]} columns of inputs, which are no images of {height} × {width}",
        )
        return inputs
    shape = (len(inputs), height, width)
    return inputs.reshape(shape if channels == 1 else (*shape, channels))


def _labels(own: OwnDataset, frame: Any, places: TablePlaces, mistakes: DataMistakes) -> Array:
    """Return the labels: numbers, or the names of classes."""
    import pandas

    if own.task == "regression" or len(own.labels) > 1:
        columns = [_numbers(frame[name], name, places, mistakes) for name in own.labels]
        return np.stack(columns, 1).astype(np.float64)
    (name,) = own.labels
    column = frame[name]
    if pandas.api.types.is_numeric_dtype(column):
        return _numbers(column, name, places, mistakes)
    numeric = pandas.to_numeric(column, errors="coerce").notna().to_numpy()
    if 2 * numeric.sum() > len(numeric):  # a text among numbers, and no names of classes
        return _numbers(column, name, places, mistakes)
    return _texts(column, name, places, mistakes)


def _texts(column: Any, name: str, places: TablePlaces, mistakes: DataMistakes) -> Array:
    """Return the cells of `column` as objects, after noting each that is empty."""
    rows = np.flatnonzero(column.isna().to_numpy()).tolist()
    mistakes.add_each(rows, lambda row: places.cell(name, row), lambda row: "is empty")
    cells: Array = column.astype(object).to_numpy()
    return cells
