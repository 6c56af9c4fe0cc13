"""Cache folder for downloads and derived files, kept between runs."""

import os
from pathlib import Path


def cache(*parts: str) -> Path:
    """Return the path of `parts` below the cache folder; nothing is created.

    The folder is `$EMULATE_CACHE`, or else `emulate` in `$XDG_CACHE_HOME` or in `~/.cache`. The XDG
    Base Directory Specification has a relative XDG_CACHE_HOME ignored.
    """
    if root := os.environ.get("EMULATE_CACHE"):
        return Path(root, *parts)
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache").joinpath("emulate", *parts)
