"""Where downloads and what is made from them are kept between runs."""

import os
from pathlib import Path


def cache(*parts: str) -> Path:
    """A path under `$EMULATE_CACHE`, or else `~/.cache/emulate`; nothing is created."""
    root = os.environ.get("EMULATE_CACHE")
    return (Path(root) if root else Path.home() / ".cache" / "emulate").joinpath(*parts)
