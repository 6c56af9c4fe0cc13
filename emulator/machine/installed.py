"""Versions of installed packages. TensorFlow is one of two packages, by platform."""

import platform
import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution

TENSORFLOW = ("tensorflow-cpu", "tensorflow")
"""Packages that contain TensorFlow; `pyproject.toml` chooses between them by platform."""


def tensorflow() -> tuple[str, Distribution] | None:
    """Return name and metadata of the installed TensorFlow package, or None; nothing is
    imported."""
    for name in TENSORFLOW:
        try:
            return name, distribution(name)
        except PackageNotFoundError:
            continue
    return None


def versions(packages: Iterable[str]) -> dict[str, str | None]:
    """Return the version of every package in `packages`, None if it is missing.

    For `tensorflow` the key of the result is the name of the installed package.
    """
    return dict(map(_version, packages))


def remedy() -> str:
    """Return the command that installs TensorFlow on this platform."""
    light = sys.platform != "darwin" and platform.machine() in ("x86_64", "AMD64")
    return f"pip install {TENSORFLOW[0] if light else TENSORFLOW[1]}"


@cache  # a point of a sweep is played in milliseconds, and each run's manifest has the versions
def _version(package: str) -> tuple[str, str | None]:
    """Return the installed name and version of `package`."""
    if package in TENSORFLOW and (package_found := tensorflow()):
        return package_found[0], package_found[1].version
    try:
        return package, distribution(package).version
    except PackageNotFoundError:
        return package, None
