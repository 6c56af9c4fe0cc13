"""File formats of the data sets, read into four arrays of bytes."""

import math
import struct
from typing import TypeAlias

import numpy as np

from .archives import Files, Unavailable
from .catalog import SENTENCES, SHAPES
from .examples import Bytes

Arrays: TypeAlias = dict[str, Bytes]
"""Arrays by part: `train-images` [n, height, width] or `train-texts` [n, length], `train-labels`,
and the same for `test`."""

IMAGES = ("train-images", "train-labels", "test-images", "test-labels")
"""Parts of an image data set, in the order of the files in `IDX`."""

IDX = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
"""Names of MNIST's four files, which data sets in its format share."""

DIGITS = ("digits.csv",)

TEXTS = ("train.txt", "test.txt")

ALPHABET = "\n ',.?abcdefghijklmnopqrstuvwxyz"
"""Characters of the texts; a character's code is its position here."""


def read_idx(files: Files) -> Arrays:
    """Read the IDX format of MNIST: a magic number, the shape, the bytes. Raises Unavailable."""
    return {part: _idx(name, files[name]) for part, name in zip(IMAGES, IDX, strict=True)}


def _idx(name: str, content: bytes) -> Bytes:
    """Return the array of the IDX file `content`. Raises Unavailable unless it holds bytes."""
    zeros, kind, axes = struct.unpack_from(">HBB", content) if len(content) >= 4 else (1, 0, 0)
    # header: two zero bytes, the type (8: unsigned byte), the number of axes, and their lengths
    start = 4 + 4 * axes
    if zeros or kind != 8 or len(content) < start:
        raise Unavailable(f"{name} is not an idx file of bytes")
    shape = struct.unpack_from(f">{axes}I", content, 4)
    values = np.frombuffer(content, np.uint8, offset=start)
    if values.size != np.prod(shape, dtype=np.int64):
        raise Unavailable(
            f"{name} holds {values.size} bytes, not the number that its shape {shape} needs"
        )
    return values.reshape(shape)


def read_digits(files: Files) -> Arrays:
    """Read a table with an image a line: 64 pixels and a class. Every fifth line is for the
    test."""
    try:
        table = np.loadtxt(files[DIGITS[0]].decode().splitlines(), np.uint8, delimiter=",")
    except ValueError as error:
        raise Unavailable(f"{DIGITS[0]} is not a table of numbers: {error}") from error
    if table.ndim != 2 or table.shape[1] != 65:
        raise Unavailable(f"{DIGITS[0]} has shape {table.shape}, not 65 columns")
    test = np.arange(len(table)) % 5 == 0
    arrays: Arrays = {}
    for part, rows in (("train", table[~test]), ("test", table[test])):
        arrays[f"{part}-images"] = rows[:, :-1].reshape(-1, 8, 8)
        arrays[f"{part}-labels"] = rows[:, -1]
    return arrays


def read_shapes(files: Files) -> Arrays:
    """Read bytes without any header, of the shapes in the catalogue. Raises Unavailable."""
    arrays: Arrays = {}
    for part in SHAPES.parts:
        values = np.frombuffer(files[part], np.uint8)
        if values.size != math.prod(SHAPES.shape(part)):
            raise Unavailable(f"{part} holds {values.size} bytes, not {SHAPES.shape(part)}")
        arrays[part] = values.reshape(SHAPES.shape(part))
    return arrays


def read_texts(files: Files) -> Arrays:
    """Cut the files into texts of one length; the labels are the text moved by one character."""
    (length,) = SENTENCES.task.shape
    arrays: Arrays = {}
    for part, name in zip(("train", "test"), TEXTS, strict=True):
        codes = _codes(name, files[name])
        texts = (len(codes) - 1) // length * length
        arrays[f"{part}-texts"] = codes[:texts].reshape(-1, length)
        arrays[f"{part}-labels"] = codes[1 : texts + 1].reshape(-1, length)
    return arrays


def _codes(name: str, content: bytes) -> Bytes:
    """Return the code of each character of `content`. Raises Unavailable for an unknown
    character."""
    code_of = np.full(256, len(ALPHABET), np.uint8)
    code_of[list(ALPHABET.encode())] = np.arange(len(ALPHABET))
    codes: Bytes = code_of[np.frombuffer(content, np.uint8)]
    if strange := np.flatnonzero(codes == len(ALPHABET)).tolist():
        character = content[strange[0] : strange[0] + 1]
        raise Unavailable(f"{name} has the byte {character!r}, which is not in {ALPHABET!r}")
    return codes
