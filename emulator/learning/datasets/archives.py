"""Named files from folders, tar and zip archives, without unpacking the rest to disk."""

import gzip
import io
import os
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TypeAlias

Files: TypeAlias = dict[str, bytes]
"""Uncompressed contents by file name without folder."""

Members: TypeAlias = Iterable[tuple[str, Callable[[], bytes]]]
"""Pairs of a path and a function that reads the file."""


class Unavailable(Exception):
    """A source cannot give its files; the message says why."""


def in_folder(folder: Path, names: Collection[str]) -> Files:
    """Return the files `names` found anywhere below `folder`. Raises Unavailable."""
    if not folder.is_dir():
        raise Unavailable("there is no such folder")
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    try:
        return _pick([(str(path), path.read_bytes) for path in paths], names)
    except OSError as error:  # for example a file of another user
        raise Unavailable(f"cannot be read: {error}") from error


def in_tar(content: bytes, names: Collection[str]) -> Files:
    """Return the files `names` of a tar archive, given as bytes. Raises Unavailable."""
    try:
        with tarfile.open(fileobj=io.BytesIO(content)) as tar:
            members = [member for member in tar if member.isfile()]
            return _pick([(m.name, partial(_extracted, tar, m)) for m in members], names)
    except tarfile.TarError as error:
        raise Unavailable(f"is not a tar file: {error}") from error


def in_zip(path: Path, names: Collection[str]) -> Files:
    """Return the files `names` of the zip archive at `path`. Raises Unavailable."""
    try:
        with zipfile.ZipFile(path) as members:
            return _pick([(n, partial(members.read, n)) for n in members.namelist()], names)
    except zipfile.BadZipFile as error:
        raise Unavailable(f"is not a zip file: {error}") from error


def unzipped(content: bytes) -> bytes:
    """Return gzipped `content` uncompressed, and other content unchanged. Raises Unavailable."""
    if not content.startswith(b"\x1f\x8b"):  # the magic number of gzip
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise Unavailable(f"is damaged: {error}") from error


def output_of(command: list[str], folder: Path) -> bytes:
    """Return the standard output of `command`, run in `folder`. Raises Unavailable if it fails.

    The command's scratch files are in `folder`, too.
    """
    try:
        process = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=600,
            env={**os.environ, "TMPDIR": str(folder)},
        )
    except FileNotFoundError as error:
        raise Unavailable(f"{command[0]} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"{' '.join(command)} did not end within 10 minutes") from error
    if process.returncode:
        errors = process.stderr.decode(errors="replace").strip().splitlines()
        raise Unavailable(
            f"{' '.join(command)} failed: {errors[-1] if errors else 'without a message'}"
        )
    return process.stdout


def _pick(members: Members, names: Collection[str]) -> Files:
    """Return the first member of each of `names`, with or without `.gz`. Raises Unavailable."""
    files: Files = {}
    for path, read in members:
        name = PurePosixPath(path).name.removesuffix(".gz")
        if name in names and name not in files:
            files[name] = unzipped(read())
    if missing := sorted(set(names) - set(files)):
        raise Unavailable(f"holds no {' or '.join(missing)}")
    return files


def _extracted(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    """Return the content of `member`."""
    content = tar.extractfile(member)
    assert content is not None  # None only for members that are no files
    return content.read()
