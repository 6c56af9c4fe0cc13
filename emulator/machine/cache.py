"""Cache folder for downloads and derived files, kept between runs."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import HostError

_LEFT = 86400.0
"""Seconds after which a folder of `scratch` counts as left by a process that was killed."""


def cache(*parts: str) -> Path:
    """Return the path of `parts` below the cache folder; nothing is created.

    The folder is `$EMULATE_CACHE`, or else `emulate` in `$XDG_CACHE_HOME` or in `~/.cache`. The XDG
    Base Directory Specification has a relative XDG_CACHE_HOME ignored.
    """
    if root := os.environ.get("EMULATE_CACHE"):
        return Path(root, *parts)
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache").joinpath("emulate", *parts)


@contextmanager
def scratch() -> Iterator[Path]:
    """Make a folder for downloads below the cache folder, and remove it at the end of the block.

    The system's own folder for such files, TMPDIR, may be small, or in memory. Commands that the
    block runs must get the folder as their TMPDIR, too: `pip` unpacks there. Raises HostError if
    the cache folder cannot be written.
    """
    from tempfile import TemporaryDirectory  # late, as `rmtree`: most commands need only the paths

    root = cache("scratch")
    try:
        root.mkdir(parents=True, exist_ok=True)
        made = TemporaryDirectory(dir=root)
    except OSError as error:
        raise HostError(f"cannot write {root}: {error.strerror}") from error
    with made as name:
        folder = Path(name)
        _remove_left(root, folder.stat().st_mtime - _LEFT)
        yield folder


def _remove_left(root: Path, before: float) -> None:
    """Remove the folders in `root` that killed processes have left, `before` a time in seconds."""
    from shutil import rmtree

    for folder in root.iterdir():
        with suppress(FileNotFoundError):  # removed by its own process
            if folder.stat().st_mtime < before:
                rmtree(folder, ignore_errors=True)


def made_again(place: Path, reason: str, *, kept: Path | None = None) -> None:
    """Report on standard error that the damaged `place` is made again; `kept` holds the old
    files."""
    kept_in = f", and its old files are in {kept}" if kept else ""
    print(f"emulate: {place} is damaged ({reason}): it is made again{kept_in}", file=sys.stderr)
