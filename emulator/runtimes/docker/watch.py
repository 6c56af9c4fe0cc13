"""What is known of a run while it goes: the server's log as it grows, and the devices' words."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import msgspec

from ...runlog import Record


class View(Protocol):
    """Whoever looks on."""

    def progress(self, text: str) -> None:
        """A step of the way to the start, or of the way out."""

    def record(self, record: Record) -> None:
        """A line of the run's log, as it comes."""

    def beat(self, now: float) -> None:
        """Time has gone on: `now` emulated seconds."""


class Tail:
    """The records that a growing file has gained since the last look."""

    def __init__(self, path: Path) -> None:
        self._path, self._offset, self._rest = path, 0, b""
        self._decode: Callable[[bytes], Any] = msgspec.json.Decoder().decode

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
            yield self._decode(line)
