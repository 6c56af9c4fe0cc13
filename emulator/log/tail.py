"""A log that someone else is still writing."""

from collections.abc import Iterator
from pathlib import Path

from .writing import Record, parse


class Tail:
    """The records that a growing file has gained since the last look."""

    def __init__(self, path: Path) -> None:
        self._path, self._offset, self._rest = path, 0, b""

    def read(self) -> Iterator[Record]:
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return
        self._offset += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            yield parse(line)
