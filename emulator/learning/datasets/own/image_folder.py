"""Folders of images by class: `train/CLASS/*.png` and `test/CLASS/*.png`, or `CLASS/*.png`."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ....machine.host import Host
from ..examples import Array
from .data_mistakes import DataMistakes, Place
from .own_dataset import OwnDataset
from .read_data import GivenPart, ReadData

_FORMATS = ("PNG", "JPEG", "BMP", "PPM", "WEBP")
_PARTS = ("train", "training", "test", "testing", "val", "valid", "validation")
"""Names of folders that are usually parts of the data, in lower case."""
_MOST_PIXELS = 1 << 26
"""Pixels of the largest image, 64 million: a small file may claim any size."""
_ORIENTATION = 0x0112
"""Tag of EXIF (JEITA CP-3451) that says how a picture is turned for display."""
_TURNS = {
    2: "FLIP_LEFT_RIGHT",
    3: "ROTATE_180",
    4: "FLIP_TOP_BOTTOM",
    5: "TRANSPOSE",
    6: "ROTATE_270",
    7: "TRANSVERSE",
    8: "ROTATE_90",
}
"""Pillow's transposition that sets a picture upright, by its orientation."""
_ON_ITS_SIDE = frozenset({5, 6, 7, 8})
"""Orientations that exchange width and height."""
_GREY, _COLOUR = ("1", "L"), ("P", "RGB", "RGBA", "LA", "CMYK", "YCbCr")


class _File(NamedTuple):
    """An image file, with the number of its class."""

    path: Path
    label: int


@dataclass(frozen=True)
class FilePlaces:
    """Places of images: their files."""

    folder: str
    files: Sequence[_File]

    def input(self, row: int | None = None, position: int | None = None) -> Place:
        return Place(self.folder if row is None else str(self.files[row].path))

    def label(self, row: int | None = None) -> Place:
        return self.input(row)


def read_folder(own: OwnDataset, path: Path) -> ReadData:
    """Return the images below `path`, in the order of their paths. Raises OwnDataError."""
    mistakes = DataMistakes()
    if not path.is_dir():
        mistakes.add(
            Place(str(path)),
            "is no data: a .npz, .csv or .parquet file, a folder of images by class, or "
            "FILE.py:FUNCTION was expected",
        )
    if own.owners is not None:
        mistakes.add(
            Place(str(path)),
            "a folder has no columns for `owners`: write `split: {kind: owners, file: …}`",
        )
    mistakes.require_none()
    folders = {"train": path / "train", "test": path / "test"}
    found = {part: folder for part, folder in folders.items() if folder.is_dir()}
    if "train" in found:
        _only(path, found, mistakes)
    elif found:
        mistakes.add(Place(str(path)), "has a folder `test` and no folder `train`")
        mistakes.require_none()
    else:
        found = {"train": path}
        _no_parts(path, mistakes)
    names = tuple(folder.name for folder in _entries(found["train"]) if folder.is_dir())
    if not names:
        mistakes.add(Place(str(found["train"])), "has no folder: one for each class was expected")
    files = {part: _files(folder, names, mistakes) for part, folder in found.items()}
    mistakes.require_none()
    shape = _shape(own, [file for part in files.values() for file in part], mistakes)
    mistakes.require_none()
    parts = {
        part: _part(str(found[part]), listed, shape, mistakes) for part, listed in files.items()
    }
    mistakes.require_none()
    return ReadData(parts["train"], parts.get("test"), class_names=names)


# -- files ---------------------------------------------------------------------------------------


def _entries(folder: Path) -> list[Path]:
    """Return files and folders in `folder` in order, without hidden ones."""
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _only(folder: Path, known: dict[str, Path], mistakes: DataMistakes) -> None:
    for path in _entries(folder):
        if path not in known.values():
            mistakes.add(Place(str(path)), "is neither `train` nor `test`")


def _no_parts(folder: Path, mistakes: DataMistakes) -> None:
    """Note each folder of a class in `folder` that is named as a part of data usually is."""
    for path in _entries(folder):
        if path.name.lower() in _PARTS and path.is_dir():
            mistakes.add(Place(str(path)), "is no class: name the parts `train` and `test`")


def _files(folder: Path, names: tuple[str, ...], mistakes: DataMistakes) -> list[_File]:
    """Return the images of all classes in `folder`, after noting what is none."""
    files = []
    loose = [path for path in _entries(folder) if not path.is_dir()]
    words = "is in no class: move it into the folder of its class"
    _note_files(dict.fromkeys(loose, words), mistakes)
    for path in _entries(folder):
        if path in loose:
            continue
        if not _is_text(path.name):
            mistakes.add(Place(str(path)), "has a name that is no text in UTF-8")
        elif path.name not in names:
            mistakes.add(Place(str(path)), "the training set has no class of this name")
        else:
            images = list(_images(path))
            files += [_File(image, names.index(path.name)) for image in images]
            if not images:
                mistakes.add(Place(str(path)), "has no image: a class needs an example")
    return files


def _is_text(name: str) -> bool:
    try:
        return bool(name.encode())
    except UnicodeEncodeError:
        return False


def _images(folder: Path) -> Iterator[Path]:
    for path in _entries(folder):
        if path.is_dir():
            yield from _images(path)
        else:
            yield path


# -- pixels --------------------------------------------------------------------------------------


def _shape(own: OwnDataset, files: list[_File], mistakes: DataMistakes) -> tuple[int, ...]:
    """Return the shape of an image, from the heads of all files."""
    size, colour = own.size, False
    unread, strange, unequal = dict[Path, str](), dict[Path, str](), dict[Path, str]()
    for path, _ in files:
        try:
            (width, height), mode = _head(path)
        except ValueError as error:
            unread[path] = str(error)
            continue
        size = size or (height, width)
        if mode not in (*_GREY, *_COLOUR):
            strange[path] = (
                f"has pixels of mode {mode}: 8 bits for each channel were expected: convert it, or "
                "store 16 bits in a .npz file with `scale: 65535`"
            )
        elif own.size is None and (height, width) != size:
            unequal[path] = (
                f"has {height} × {width} pixels, and {files[0].path.name} {size[0]} × {size[1]}: "
                f"write `size: [{size[0]}, {size[1]}]` to resize the images"
            )
        colour = colour or mode not in _GREY
    for kind in (unread, strange, unequal):
        _note_files(kind, mistakes)
    if size is None:
        return ()
    shape = (*size, 3) if colour else size
    needed, free = len(files) * int(np.prod(shape)), Host.here().available
    if needed > free:
        mistakes.add(
            Place(str(files[0].path.parent.parent)),
            f"has {needed / 1e9:.1f} GB of pixels, and this host has {free / 1e9:.1f} GB of memory "
            "available: write a smaller `size`",
        )
    return shape


def _note_files(found: Mapping[Path, str], mistakes: DataMistakes) -> None:
    """Note the message of each file in `found`, which has files with the same kind of mistake."""
    paths = list(found)
    mistakes.add_each(
        range(len(paths)), lambda row: Place(str(paths[row])), lambda row: found[paths[row]]
    )


def _head(path: Path) -> tuple[tuple[int, int], str]:
    """Return width and height as seen, and mode of the image at `path`. Raises ValueError."""
    try:
        with _opened(path) as image:
            (width, height), mode = image.size, image.mode
            if _orientation(image) in _ON_ITS_SIDE:
                width, height = height, width
    except Exception as error:  # a decoder may raise anything at hostile bytes
        raise ValueError(f"is no image that can be read: {_reason(path, error)}") from error
    if width * height > _MOST_PIXELS:
        raise ValueError(f"has {width:,} × {height:,} pixels: {_MOST_PIXELS:,} at most are read")
    return (width, height), mode


def _opened(path: Path) -> Any:
    from PIL import Image  # only here: it takes a tenth of a second

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of damaged EXIF, which is read as if it were not there
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        return Image.open(path, formats=_FORMATS)


def _orientation(image: Any) -> int:
    """Return the orientation of EXIF of an `image` that was opened; 1 is upright.

    Of a PNG only what stands before the pixels is read: else all pixels would be decoded for it.
    """
    if image.format == "PNG" and "exif" not in image.info:
        return 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return int(image.getexif().get(_ORIENTATION, 1))
        except Exception:  # hostile EXIF may raise anything, and the pixels are good all the same
            return 1


def _reason(path: Path, error: Exception) -> str:
    if type(error).__name__ == "UnidentifiedImageError":
        return f"{', '.join(_FORMATS)} were expected"
    return " ".join(str(error).replace(str(path), "it").split()) or type(error).__name__


def _part(
    folder: str, files: list[_File], shape: tuple[int, ...], mistakes: DataMistakes
) -> GivenPart:
    pixels: Array = np.zeros((len(files), *shape), np.uint8)
    unread: dict[Path, str] = {}
    for row, file in enumerate(files):
        try:
            pixels[row] = _pixels(file.path, shape)
        except Exception as error:  # a decoder may raise anything at hostile bytes
            unread[file.path] = f"is no image that can be read: {_reason(file.path, error)}"
    _note_files(unread, mistakes)
    labels = np.array([file.label for file in files], np.int64)
    return GivenPart(pixels, labels, FilePlaces(folder, files))


def _pixels(path: Path, shape: tuple[int, ...]) -> Array:
    """Return the image at `path` in `shape`: grey, or red, green and blue without transparency."""
    from PIL import Image

    with _opened(path) as image:
        turned = _TURNS.get(_orientation(image))
        converted = image.convert("RGB" if len(shape) == 3 else "L")
        if turned is not None:
            converted = converted.transpose(Image.Transpose[turned])
        if converted.size != (shape[1], shape[0]):
            converted = converted.resize((shape[1], shape[0]), Image.Resampling.BILINEAR)
        return np.asarray(converted, np.uint8)
