"""Cache folder for downloads and derived files, kept between runs."""

import os
from pathlib import Path


def cache(*parts: str) -> Path:
    """Return a path below `$EMULATE_CACHE` or `~/.cache/emulate`; nothing is created."""
    root = os.environ.get("EMULATE_CACHE")
    return (Path(root) if root else Path.home() / ".cache" / "emulate").joinpath(*parts)
