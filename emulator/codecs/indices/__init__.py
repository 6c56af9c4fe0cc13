"""Index codings: ways to write a set of parameters as bytes.

To add a coding: write a file, and name it here, last in `Auto`. The tests run over `CODINGS`.
"""

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
    # on the wire a coding is known by its position in this tuple: new ones go last
    "auto": Auto((gap, golomb, matrix, bitmap, u16, u32)),
}

__all__ = ["CODINGS", "IndexCoder", "IndexCoding"]
