"""The end of `run.jsonl`, at which a recovered server goes on without a doubled or a torn line."""

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from ...log.lines import parse
from ...log.records import RecoveredRecord, StartRecord, UpdateRecord


class LogTail:
    """The sink of a run's log that a replay of the server's inputs fills up.

    A replay gives the lines that the file has already, and then those that a crash kept from it.
    """

    def __init__(self, path: Path) -> None:
        """Open or create the file at `path`; cut off a torn last line."""
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        self._path = path
        self._length = whole_lines(path)
        os.ftruncate(self._file, self._length)
        self.position = self._length
        """Bytes of the file up to the next line."""
        self.beside: Callable[[bytes], None] | None = None
        """Called with each line before it is written, unless the server's protocol writes it."""

    def replay_from(self, position: int) -> None:
        """Take the lines from the byte `position` on as those of a replay."""
        self.position = min(position, self._length)

    def write(self, line: bytes) -> None:
        """Write `line`, unless a replay has reached a line that the file has."""
        if self.beside is not None:
            self.beside(line)
        if self.position >= self._length:
            left = memoryview(line)
            while left:
                written = os.pwrite(self._file, left, self.position)
                self.position, left = self.position + written, left[written:]
            self._length = self.position
        else:
            self.position += len(line)

    def flush(self) -> None:
        """Do nothing: every line is written at once."""

    def synchronize(self) -> None:
        """Bring the lines to the disk: they survive a loss of power. Other threads may write."""
        os.fsync(self._file)

    def replayed(self) -> tuple[int, dict[str, int]]:
        """End the replay; return the version of the last update in the lines behind the replayed
        part, and the largest number of updates by node between two recoveries in these lines.

        They are 0 unless the disk has lost inputs, or none were kept. Their updates are lost.
        Updates before a recovery in these lines count only as far as that recovery kept them.
        """
        lost, booked, most = 0, Counter[str](), Counter[str]()
        with self._path.open("rb") as file:
            file.seek(self.position)
            for line in file:
                record = _parsed(line)
                if isinstance(record, UpdateRecord):
                    lost = max(lost, record.version)
                    booked[record.node] += 1
                elif isinstance(record, RecoveredRecord):
                    lost = record.version
                    most, booked = most | booked, Counter()
        self.position = self._length
        return lost, most | booked

    def has_begun(self) -> bool:
        """Return whether the file has the record of the run's zero."""
        with self._path.open("rb") as file:
            return any(isinstance(_parsed(line), StartRecord) for line in file)

    def close(self) -> None:
        os.close(self._file)


class ReadTail(LogTail):
    """A tail for a replay that only reads: the file stays as it is."""

    def __init__(self, path: Path) -> None:
        self._path, self._length = path, whole_lines(path)
        self.position = 0
        self.beside = None
        self.missing: list[bytes] = []
        """Lines of the replay that the file does not have."""

    def write(self, line: bytes) -> None:
        """Keep `line`, unless the file has it."""
        if self.position >= self._length:
            self.missing.append(line)
        else:
            self.position += len(line)


def _parsed(line: bytes) -> object:
    try:
        return parse(line)
    except ValueError:
        return None


def whole_lines(path: Path) -> int:
    """Return the bytes of `path` up to the end of its last whole line."""
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - 65536)
            file.seek(start)
            newline = file.read(end - start).rfind(b"\n")
            if newline >= 0:
                return start + newline + 1
            end = start
    return 0
