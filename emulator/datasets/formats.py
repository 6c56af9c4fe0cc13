"""The file formats that the data sets come in, read into four arrays of bytes."""

import struct
from typing import TypeAlias

import numpy as np

from .archives import Files, Unavailable
from .catalog import SENTENCES
from .examples import Bytes

Arrays: TypeAlias = dict[str, Bytes]
"""By part: `train-images` [n, height, width] or `train-texts` [n, length], `train-labels`, and the
same for `test`."""

IMAGES = ("train-images", "train-labels", "test-images", "test-labels")

IDX = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
"""MNIST's four files, and those of every set that imitates it."""

DIGITS = ("digits.csv",)

TEXTS = ("train.txt", "test.txt")

ALPHABET = "\n ',.?abcdefghijklmnopqrstuvwxyz"
"""A character's code is its place in it."""


def read_idx(files: Files) -> Arrays:
    """The format of LeCun's MNIST pages: a magic number, the shape, the bytes."""
    return {part: _idx(name, files[name]) for part, name in zip(IMAGES, IDX, strict=True)}


def _idx(name: str, content: bytes) -> Bytes:
    zeros, kind, axes = struct.unpack_from(">HBB", content) if len(content) >= 4 else (1, 0, 0)
    start = 4 + 4 * axes
    if zeros or kind != 8 or len(content) < start:
        raise Unavailable(f"{name} is not an idx file of bytes")
    shape = struct.unpack_from(f">{axes}I", content, 4)
    values = np.frombuffer(content, np.uint8, offset=start)
    if values.size != np.prod(shape, dtype=np.int64):
        raise Unavailable(f"{name} holds {values.size} bytes, not the {shape} that it says")
    return values.reshape(shape)


def read_digits(files: Files) -> Arrays:
    """One line an image: its 64 pixels, then its class. Every fifth one is for the test."""
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


def read_texts(files: Files) -> Arrays:
    """Cut into texts of one length; the labels are the same text, a character further on."""
    (length,) = SENTENCES.task.shape
    arrays: Arrays = {}
    for part, name in zip(("train", "test"), TEXTS, strict=True):
        codes = _codes(name, files[name])
        texts = (len(codes) - 1) // length * length
        arrays[f"{part}-texts"] = codes[:texts].reshape(-1, length)
        arrays[f"{part}-labels"] = codes[1 : texts + 1].reshape(-1, length)
    return arrays


def _codes(name: str, content: bytes) -> Bytes:
    place = np.full(256, len(ALPHABET), np.uint8)
    place[list(ALPHABET.encode())] = np.arange(len(ALPHABET))
    codes: Bytes = place[np.frombuffer(content, np.uint8)]
    if strange := np.flatnonzero(codes == len(ALPHABET)).tolist():
        found = content[strange[0] : strange[0] + 1]
        raise Unavailable(f"{name} has the byte {found!r}, which is not in {ALPHABET!r}")
    return codes
