"""Copies the output of a workload's programs out of their containers, into the run's folder."""

import tarfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

import requests
from docker import DockerClient
from docker.errors import DockerException, NotFound

from ....errors import shortened

MOST = 1 << 30
"""Bytes that are copied of each program: a program's output must not fill the host's disk."""


def copy_output(client: DockerClient, container: str, path: str, into: Path) -> str:
    """Copy the file or folder at `path` of the `container` into the folder `into`.

    Copies plain files and folders alone. A container without `path`, or without a file in it, gives
    nothing. What cannot be read or written ends the copy, and the files so far stay. Returns what
    is missing, and why; empty if nothing is.
    """
    try:
        pieces, _ = client.api.get_archive(container, path)
        with tarfile.open(fileobj=cast(IO[bytes], _Stream(pieces)), mode="r|") as archive:
            left_out = _extract(archive, into)
    except NotFound:
        return ""
    except (DockerException, requests.RequestException, tarfile.TarError, OSError) as error:
        return f"incomplete: {error}"
    if not left_out:
        return ""
    return f"without {shortened(', '.join(left_out))}: more than {MOST >> 20} MiB for a program"


def _extract(archive: tarfile.TarFile, into: Path) -> list[str]:
    """Write the plain files of `archive` below `into`; return the names of those too large."""
    left, left_out = MOST, list[str]()
    for member in archive:
        # the first part is the name of the path itself
        parts = PurePosixPath(member.name).parts[1:] or (PurePosixPath(member.name).name,)
        if not member.isreg() or ".." in parts:
            continue
        if member.size > left:
            left_out.append("/".join(parts))
            continue
        content = archive.extractfile(member)
        if content is None:
            continue
        left -= member.size
        target = into.joinpath(*parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file:
            while piece := content.read(1 << 20):
                file.write(piece)
    return left_out


class _Stream:
    """A file of bytes to read, of the pieces of an answer."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces, self._rest = iter(pieces), b""

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes; fewer at the end alone."""
        while len(self._rest) < size or size < 0:
            piece: Any = next(self._pieces, None)
            if piece is None:
                break
            self._rest += piece
        taken, self._rest = (
            (self._rest, b"") if size < 0 else (self._rest[:size], self._rest[size:])
        )
        return taken
