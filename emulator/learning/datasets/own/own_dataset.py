"""Data set of one's own in a scenario: its file, and how the file's contents are understood."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from ....errors import MisplacedKeysError
from ....plugins.python_file import is_reference
from ....units import AtLeast, Checked, Fraction

Format: TypeAlias = Literal["npz", "csv", "parquet", "function", "folder"]

Kind: TypeAlias = Literal["images", "vectors", "tokens"]
"""Kind of inputs."""

_FORMATS: dict[str, Format] = {".npz": "npz", ".csv": "csv", ".parquet": "parquet"}
_SOME, _SEVERAL = AtLeast(1), AtLeast(2)


def is_path(text: str) -> bool:
    """Return whether `text` is the path of data, and no name of a data set that is shipped.

    A path has a slash, or ends as `.npz`, `.csv`, `.parquet` or `.py:name`.
    """
    return "/" in text or format_of(text) != "folder"


def format_of(file: str) -> Format:
    """Return the format of the data at `file`, by the ending of its name."""
    if is_reference(file):
        return "function"
    return _FORMATS.get(Path(file).suffix.lower(), "folder")


def _check_share(share: Fraction) -> None:
    """Raise ValueError unless 0 < `share` < 1."""
    if not 0 < share < 1:
        raise ValueError(f"{share}: write a share above 0% and below 100%")


def _check_size(size: tuple[int, int]) -> None:
    """Raise ValueError unless `size` is a height and a width in pixels."""
    if not all(0 < side <= 4096 for side in size):
        raise ValueError(f"{list(size)}: write [height, width], each from 1 to 4096 pixels")


def _check_label(label: str | tuple[str, ...]) -> None:
    """Raise ValueError if `label` names no column, or a column twice."""
    names = (label,) if isinstance(label, str) else label
    if not names or not all(names):
        raise ValueError("is empty: name the column with the labels")
    if len(set(names)) < len(names):
        raise ValueError(f"{', '.join(names)}: a column is named twice")


@dataclass(frozen=True)
class OwnDataset:
    """Data set of one's own: NumPy arrays, a table, a folder of images, or a Python function."""

    file: str
    """Path of the data, from the scenario's folder, or in an option from the working directory:
    arrays `x_train`, `y_train`, `x_test` and `y_test` in a `.npz` file, a table (`.csv` or
    `.parquet`), a folder of images by class, or a function that returns the four arrays
    (`./data.py:load`)."""
    task: Literal["classification", "regression"] | None = None
    """Task: classification or regression. Without `task`, labels with a decimal point are targets
    of a regression, and whole numbers and words are classes."""
    label: Annotated[str | tuple[str, ...], Checked(_check_label)] = "label"
    """Column of a table with the labels, or a list of columns with the targets of a regression."""
    inputs: Kind | None = None
    """Kind of inputs. Without `inputs`, arrays with three or four axes are images, rows of a table
    and arrays of numbers with a decimal point are vectors, and other arrays are token ids."""
    classes: Annotated[int, _SEVERAL] | None = None
    """Number of classes. Without `classes`, it is one more than the largest label of the training
    set, and every class must have a training example."""
    vocabulary: Annotated[int, _SOME] | None = None
    """Number of token ids. Without `vocabulary`, it is one more than the largest token id."""
    scale: Annotated[int, _SOME] | None = None
    """Divisor of the inputs. Without `scale`, images of whole numbers are divided by 255, and other
    inputs stay as they are."""
    size: Annotated[tuple[int, int], Checked(_check_size)] | None = None
    """Height and width in pixels to which the images of a folder are resized; without `size`, they
    must be of equal size. A table with `size` has the pixels of an image in each row."""
    owners: str | None = None
    """Column of a table, or array of the examples, that says whose each training example is. It is
    no input; the split `owners` gives each device the examples of some owners."""
    test: Annotated[Fraction, Checked(_check_share)] | None = None
    """Share of the examples for the test, for example `10%`, if the data has no test set; 20%
    without `test`. The choice of these examples is the same for every seed."""
    test_file: str | None = None
    """Path of a second table with the test set, from the scenario's folder, or in an option from
    the working directory."""
    sha256: str | None = None
    """SHA-256 of the data: another content is refused. The scenario in a run's folder has it."""

    def __post_init__(self) -> None:
        _check_label(self.label)
        for number in (self.vocabulary, self.scale):
            if number is not None:
                _SOME.check(number)
        if self.classes is not None:
            _SEVERAL.check(self.classes, "classes")
        if self.size is not None:
            _check_size(self.size)
        if self.test is not None:
            _check_share(self.test)
        if misplaced := list(self._misplaced()):
            raise MisplacedKeysError(misplaced)

    def _misplaced(self) -> Iterator[tuple[str, str]]:
        """Yield each key that the other keys leave without effect, with a message that says why."""
        table = self.format in ("csv", "parquet")
        if not table and self.label != "label":
            yield "label", "names a column, and only .csv and .parquet files have columns"
        if not table and self.test_file is not None:
            yield "test_file", "is a second table, and only .csv and .parquet files are tables"
        if not table and self.format != "folder" and self.size is not None:
            yield "size", "is for folders of images and for tables: arrays have a shape"
        if self.test is not None and self.test_file is not None:
            yield "test", "is for data without a test set, and `test_file` is one"
        if self.task == "regression" and self.classes is not None:
            yield "classes", "a regression has no classes"

    @property
    def format(self) -> Format:
        """Format of the data."""
        return format_of(self.file)

    @property
    def name(self) -> str:
        """Name for messages and tables: that of the file without its folder."""
        return Path(self.file).name

    @property
    def labels(self) -> tuple[str, ...]:
        """Columns of a table with the labels."""
        return (self.label,) if isinstance(self.label, str) else self.label

    def __str__(self) -> str:
        return self.name
