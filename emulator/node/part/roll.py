"""The list of the members that have said hello to the server, as a file for the conductor."""

from pathlib import Path

import msgspec

from ...log.lines import LineTail
from .checkpoint import Training

FILE = "hellos.jsonl"


class Member(msgspec.Struct):
    """A line of the file: the name of a node after its first hello."""

    node: str


class Roll:
    """A Chore that appends a line of JSON to `path` for every member's first hello."""

    def __init__(self, server: Training, path: Path) -> None:
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
                file.write(b"".join(msgspec.json.encode(Member(node)) + b"\n" for node in new))
            self._missing = missing


def members(path: Path) -> LineTail[Member]:
    """Return a reader of the members that said hello since the last look."""
    return LineTail(path, msgspec.json.Decoder(Member).decode)
