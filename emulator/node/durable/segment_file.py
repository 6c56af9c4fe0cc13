"""Segments of a log on disk: records of bytes, numbered and checksummed, appended to a file.

A record is a head (its number, the number of its parts, a CRC-32), the parts' lengths, and the
parts. The checksum covers all but itself. A reader stops at the first record that is torn, damaged
or out of turn: it returns the records before, and never a wrong one.
"""

import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Self
from zlib import crc32

from ...vectors import Buffer

_HEAD = struct.Struct("<QII")
"""Number, parts, checksum."""
_PLAIN = struct.Struct("<QI")
"""The checked part of the head."""
_LENGTH = struct.Struct("<I")
MOST_PARTS = 16
"""Largest number of parts of a record; a message has fewer frames."""


class SegmentWriter:
    """Appends records to a new file, with one call of the kernel for a record.

    A record is in the kernel's page cache when `append` returns, so it outlives this process, but
    not a loss of power: nothing is synchronized to the disk.
    """

    def __init__(self, path: Path, number: int) -> None:
        """Give the first record `number`. Raises FileExistsError if there is a file at `path`."""
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        self.number = number
        """Number of the next record."""
        self.size = 0
        """Bytes of the records."""

    def append(self, parts: Sequence[Buffer]) -> None:
        """Append a record of up to `MOST_PARTS` parts. Raises OSError if the disk takes no more."""
        lengths = b"".join(_LENGTH.pack(len(part)) for part in parts)
        checked = crc32(lengths, crc32(_PLAIN.pack(self.number, len(parts))))
        for part in parts:
            checked = crc32(part, checked)
        head = _HEAD.pack(self.number, len(parts), checked)
        self._write([head, lengths, *parts])
        self.number += 1

    def _write(self, buffers: list[Buffer]) -> None:
        left = sum(map(len, buffers))
        self.size += left
        written = os.writev(self._file, buffers)
        while written < left:  # rare: the disk is nearly full, or the record exceeds 2 GB
            left -= written
            rest = b"".join(buffers)[-left:]
            buffers = [rest]
            written = os.write(self._file, rest)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        os.close(self._file)


def read_segment(path: Path, number: int) -> Iterator[list[bytes]]:
    """Yield the parts of every sound record of the file at `path`; the first record has `number`.

    Stops at the first record that is torn, damaged or out of turn.
    """
    with path.open("rb") as file:
        left = os.fstat(file.fileno()).st_size
        while (parts := _record(file, number, left)) is not None:
            left = os.fstat(file.fileno()).st_size - file.tell()
            yield parts
            number += 1


def is_whole(path: Path, number: int) -> bool:
    """Return whether the file at `path` has sound records to its end, the first with `number`."""
    sizes = (
        _HEAD.size + _LENGTH.size * len(parts) + sum(map(len, parts))
        for parts in read_segment(path, number)
    )
    return sum(sizes) == path.stat().st_size


def _record(file: BinaryIO, number: int, left: int) -> list[bytes] | None:
    """Return the parts of the next record; None if damaged. `left` bytes are in `file`."""
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    found, count, checksum = _HEAD.unpack(head)
    if found != number or count > MOST_PARTS:
        return None
    lengths = file.read(_LENGTH.size * count)
    if len(lengths) < _LENGTH.size * count:
        return None
    sizes = [size for (size,) in _LENGTH.iter_unpack(lengths)]
    if sum(sizes) > left:  # before any memory is set aside for a length that is damaged
        return None
    parts = [file.read(size) for size in sizes]
    checked = crc32(lengths, crc32(head[: _PLAIN.size]))
    for part in parts:
        checked = crc32(part, checked)
    return parts if checked == checksum else None
