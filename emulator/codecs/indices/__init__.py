"""How a set of parameters travels. To add a way: write its file, name it here, add its test row."""

from typing import Literal, TypeAlias

from . import bitmap, gap, golomb, matrix, u16, u32
from .auto import Auto
from .base import IndexCoder

IndexCoding: TypeAlias = Literal["auto", "bitmap", "gap", "golomb", "matrix", "u16", "u32"]

CODINGS: dict[IndexCoding, IndexCoder] = {
    "bitmap": bitmap,
    "gap": gap,
    "golomb": golomb,
    "matrix": matrix,
    "u16": u16,
    "u32": u32,
    # each is known by its place: new ones go last
    "auto": Auto((gap, golomb, matrix, bitmap, u16, u32)),
}

__all__ = ["CODINGS", "IndexCoder", "IndexCoding"]
