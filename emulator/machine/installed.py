"""Versions of the installed packages; TensorFlow comes as one of two, by platform."""

import platform
import sys
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution

TENSORFLOW = ("tensorflow-cpu", "tensorflow")
"""The packages that hold TensorFlow; `pyproject.toml` says which of them a platform gets."""


def tensorflow() -> tuple[str, Distribution] | None:
    """Return the package that holds TensorFlow and its metadata, without importing it."""
    for name in TENSORFLOW:
        try:
            return name, distribution(name)
        except PackageNotFoundError:
            continue
    return None


def versions(packages: Iterable[str]) -> dict[str, str | None]:
    """Return the version of each of `packages`; None if it is not installed.

    TensorFlow is asked for as `tensorflow`, and found under the name of its package.
    """
    return dict(map(_version, packages))


def remedy() -> str:
    """Return the command that installs TensorFlow on this platform."""
    light = sys.platform != "darwin" and platform.machine() in ("x86_64", "AMD64")
    return f"pip install {TENSORFLOW[0] if light else TENSORFLOW[1]}"


def _version(package: str) -> tuple[str, str | None]:
    if package in TENSORFLOW and (found := tensorflow()):
        return found[0], found[1].version
    try:
        return package, distribution(package).version
    except PackageNotFoundError:
        return package, None
