"""A log that another process is still writing."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

from .lines import parse
from .records import Record

T = TypeVar("T")


class LineTail(Generic[T]):
    """The lines that a growing file has gained since the last look, parsed."""

    def __init__(self, path: Path, parse_line: Callable[[bytes], T | None]) -> None:
        """`parse_line` returns None for a line to skip. The file need not exist yet."""
        self._path, self._parse = path, parse_line
        self._offset, self._rest = 0, b""

    def skip(self) -> None:
        """Leave out the whole lines that the file has now."""
        with suppress(FileNotFoundError):
            self._offset = self._path.read_bytes().rfind(b"\n") + 1

    def read(self) -> Iterator[T]:
        """Yield each whole line written since the last call."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return
        self._offset += len(data)
        # the last piece is a line that is still being written, or empty
        *lines, self._rest = (self._rest + data).split(b"\n")
        for text in lines:
            parsed = self._parse(text)
            if parsed is not None:
                yield parsed


class Tail(LineTail[Record]):
    """The records that a growing log has gained since the last look."""

    def __init__(self, path: Path, *, from_end: bool = False) -> None:
        """With `from_end` the records that the log has now are left out."""
        super().__init__(path, parse)
        if from_end:
            self.skip()
