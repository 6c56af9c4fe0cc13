"""Points that any sweep or study of a runs folder has finished, by the digest of the scenario."""

import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from .deciding_code import code_of, deciding_code
from .point_note import NOTE, DamagedError, read_note, verify_note

_PLACES = ("sweeps/*/points/*", "studies/*/points/*")


class FinishedPoints:
    """Index of the points of the runs folder `runs`; None: of those that are added alone."""

    def __init__(self, runs: Path | None) -> None:
        self._runs = runs

    @cached_property
    def _folders(self) -> dict[str, list[Path]]:
        """Folders of finished points by digest; the notes are read once, at the first question."""
        folders: dict[str, list[Path]] = {}
        for folder in self._noted():
            try:
                digest = json.loads((folder / NOTE).read_bytes())["digest"]
            except (OSError, ValueError, LookupError, TypeError):
                continue  # its own sweep says so, and plays the point again
            folders.setdefault(str(digest), []).append(folder)
        return folders

    def _noted(self) -> Iterator[Path]:
        if self._runs is not None:
            for place in _PLACES:
                yield from sorted(note.parent for note in self._runs.glob(f"{place}/{NOTE}"))

    def add(self, digest: str, folder: Path) -> None:
        """Add the point finished in `folder`."""
        self._folders.setdefault(digest, []).append(folder)

    def find(self, digest: str) -> tuple[Path, dict[str, Any]] | None:
        """Return folder and note of an undamaged point with this digest, played by the code that is
        here; None without one."""
        for folder in self._folders.get(digest, ()):
            try:
                note = read_note(folder)
                # without digests of the files, nothing would tell damage
                if note and note["digest"] == digest and "files" in note:
                    verify_note(folder, note)
                    if code_of(note) == deciding_code():
                        return folder, note
            except DamagedError:
                continue
        return None
