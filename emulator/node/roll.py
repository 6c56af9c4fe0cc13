"""The list of the members that have said hello to the server, as a file for the conductor."""

from pathlib import Path

from ..core.server import ParameterServer
from ..log.writing import line

FILE = "hellos.jsonl"


class Roll:
    """A Chore that appends a line of JSON to `path` for each member's first hello."""

    def __init__(self, server: ParameterServer, path: Path) -> None:
        self._server, self._path = server, path
        self._missing = set(server.missing)

    def deadline(self) -> float | None:
        return None

    def tick(self, now: float) -> None:
        if not self._missing:
            return
        missing = set(self._server.missing)
        if new := sorted(self._missing - missing):
            with self._path.open("ab") as file:
                file.write(b"".join(line({"node": node}) for node in new))
            self._missing = missing
