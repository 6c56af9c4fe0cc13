"""Writer of event files as TensorBoard reads them: numbers over steps, in records of TFRecord.

A record is a length, its checksum, an `Event` of tensorflow/core/util/event.proto, and its
checksum. The format is written here because TensorFlow takes seconds to import, and does not bring
the package `tensorboard`. Tests read the files with TensorFlow's reader.
"""

import errno
import glob
import struct
from collections.abc import Mapping
from pathlib import Path

_VERSION = b"brain.Event:2"
"""Content of the first event of each file."""

_POLYNOMIAL = 0x82F63B78
"""Of CRC-32C (Castagnoli), with its bits reversed."""


def _table() -> tuple[int, ...]:
    """Return the checksum of each byte."""
    rows = []
    for row in range(256):
        for _ in range(8):
            row = row >> 1 ^ (_POLYNOMIAL if row & 1 else 0)
        rows.append(row)
    return tuple(rows)


_CHECKSUMS = _table()


class EventFile:
    """An event file in a folder of its own. Each write reaches the file at once."""

    def __init__(self, folder: Path, name: str, zero: float) -> None:
        """Make the file in `folder`, which is made too, in place of older ones of this `name`.

        `zero` is the wall-clock time, in seconds since 1970, that TensorBoard shows for the time 0
        of `write`. Raises OSError, also if a file of this `name` has no events.
        """
        folder.mkdir(parents=True, exist_ok=True)
        for older in folder.glob(f"events.out.tfevents.*.{glob.escape(name)}"):
            _require_events(older)
            older.unlink()
        self.path = folder / f"events.out.tfevents.{zero:.0f}.{name}"
        self._zero = zero
        self._file = self.path.open("xb", buffering=0)
        self._event(0.0, _field(3, _VERSION))

    def write(self, at: float, step: int, values: Mapping[str, float]) -> None:
        """Write the `values` of several tags at `step` and the time `at`, in seconds."""
        tagged = (_field(1, _field(1, tag.encode()) + _single(2, x)) for tag, x in values.items())
        self._event(at, b"\x10" + _varint(step) + _field(5, b"".join(tagged)))

    def close(self) -> None:
        self._file.close()

    def _event(self, at: float, content: bytes) -> None:
        event = b"\x09" + struct.pack("<d", self._zero + at) + content
        length = struct.pack("<Q", len(event))
        self._file.write(length + _masked(length) + event + _masked(event))


def _require_events(file: Path) -> None:
    """Raise OSError unless `file` is empty or begins as an event file does."""
    if file.is_file() and not file.is_symlink():
        with file.open("rb") as content:
            head = content.read(64)
        if not head or _VERSION in head:
            return
    raise FileExistsError(errno.EEXIST, f"{file.name} is there, and has no events")


def _masked(content: bytes) -> bytes:
    """Return the checksum of `content` as TFRecord masks it."""
    checksum = 0xFFFFFFFF
    for byte in content:
        checksum = checksum >> 8 ^ _CHECKSUMS[(checksum ^ byte) & 0xFF]
    checksum ^= 0xFFFFFFFF
    rotated = (checksum >> 15 | checksum << 17) + 0xA282EAD8
    return struct.pack("<I", rotated & 0xFFFFFFFF)


def _field(number: int, content: bytes) -> bytes:
    """Return a field of bytes, text or a message, as protocol buffers encode it."""
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _single(number: int, value: float) -> bytes:
    """Return a field with a float of 32 bits; a larger value is infinite."""
    try:
        packed = struct.pack("<f", value)
    except OverflowError:
        packed = struct.pack("<f", float("inf") if value > 0 else float("-inf"))
    return bytes([number << 3 | 5]) + packed


def _varint(number: int) -> bytes:
    """Return `number`, not negative, seven bits a byte."""
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
