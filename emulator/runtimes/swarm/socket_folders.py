"""Folders of the Unix sockets through which a conductor reaches other hosts' engines.

They are in the system's folder for temporary files, as the address of a Unix socket has 107 bytes,
and the cache may be deep. A folder has the lock of its conductor, so what a killed one has left can
be told.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from ...machine import lock

PREFIX = "emulate-swarm-"
_LOCK = "conductor"
_LEFT = 86400.0
"""Seconds after which a folder without a lock counts as left: it may just be made."""


@contextmanager
def socket_folder() -> Iterator[Path]:
    """Make a folder, and remove it at the end of the block."""
    with TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with lock.held(folder / _LOCK):
            yield folder


def remove_dead_folders() -> None:
    """Remove the folders whose conductors are dead, as far as this user may."""
    from shutil import rmtree  # takes longer to import than all of this module

    for folder in Path(gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # another user's, or gone meanwhile
            if _dead(folder):
                rmtree(folder, ignore_errors=True)


def _dead(folder: Path) -> bool:
    if folder.is_symlink() or not folder.is_dir():
        return False
    if (folder / _LOCK).exists():
        return lock.holder(folder / _LOCK) is None
    return folder.stat().st_mtime < time.time() - _LEFT
