"""Named files out of folders, tars and zips, without unpacking the rest to the disk."""

import gzip
import io
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TypeAlias

Files: TypeAlias = dict[str, bytes]
"""Contents by file name, without the folder and uncompressed."""

Members: TypeAlias = Iterable[tuple[str, Callable[[], bytes]]]
"""Paths, and what reads each."""


class Unavailable(Exception):
    """A source cannot give its files; the message says why."""


def in_folder(folder: Path, names: Collection[str]) -> Files:
    if not folder.is_dir():
        raise Unavailable("there is no such folder")
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return _pick([(str(path), path.read_bytes) for path in paths], names)


def in_tar(content: bytes, names: Collection[str]) -> Files:
    try:
        with tarfile.open(fileobj=io.BytesIO(content)) as tar:
            members = [member for member in tar if member.isfile()]
            return _pick([(m.name, partial(_extracted, tar, m)) for m in members], names)
    except tarfile.TarError as error:
        raise Unavailable(f"is not a tar file: {error}") from error


def in_zip(path: Path, names: Collection[str]) -> Files:
    try:
        with zipfile.ZipFile(path) as members:
            return _pick([(n, partial(members.read, n)) for n in members.namelist()], names)
    except zipfile.BadZipFile as error:
        raise Unavailable(f"is not a zip file: {error}") from error


def unzipped(content: bytes) -> bytes:
    """The content of gzipped bytes, and of others the bytes themselves."""
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise Unavailable(f"is damaged: {error}") from error


def output_of(command: list[str], folder: str) -> bytes:
    """What the command prints when it is run in the folder; Unavailable if it fails."""
    try:
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=600
        )
    except FileNotFoundError as error:
        raise Unavailable(f"{command[0]} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"{' '.join(command)} did not end within 10 minutes") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise Unavailable(f"{' '.join(command)} failed: {said[-1] if said else 'it says nothing'}")
    return done.stdout


def _pick(members: Members, names: Collection[str]) -> Files:
    found: Files = {}
    for path, read in members:
        name = PurePosixPath(path).name.removesuffix(".gz")
        if name in names and name not in found:
            found[name] = unzipped(read())
    if missing := sorted(set(names) - set(found)):
        raise Unavailable(f"holds no {' or '.join(missing)}")
    return found


def _extracted(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    content = tar.extractfile(member)
    assert content is not None  # it is a file
    return content.read()
