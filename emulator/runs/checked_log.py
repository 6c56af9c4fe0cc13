"""The log of a run that is played again: compared with the old log, then continued."""

from pathlib import Path
from typing import Self

from ..errors import EmulatorError


class CheckedLog:
    """A sink that takes the bytes of the file at `path` once more, and then appends to it."""

    def __init__(self, path: Path) -> None:
        """Open the file; a missing file is empty."""
        path.touch()
        self._path, self._file = path, path.open("r+b")
        self.left = path.stat().st_size
        """Bytes of the file that have not come again."""
        self._place = 0

    def write(self, line: bytes) -> None:
        """Compare `line` with the file, or append `line`. Raises EmulatorError at a difference."""
        if self.left:
            there = self._file.read(min(len(line), self.left))
            if not line.startswith(there):
                raise self.mismatch()
            self.left -= len(there)
            self._place += len(there)
            line = line[len(there) :]
        if line:
            self._file.write(line)

    def mismatch(self) -> EmulatorError:
        """Return the error for a file with other bytes than the run would have had."""
        return EmulatorError(
            f"{self._path}: the run, played again, differs behind byte {self._place}: another "
            "version of the emulator or of NumPy wrote it, or it was changed: run the scenario anew"
        )

    def flush(self) -> None:
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()
