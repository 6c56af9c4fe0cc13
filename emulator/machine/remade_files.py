"""Damaged files of a cache: they are made again, and not in silence."""

import sys
from pathlib import Path


def made_again(place: Path, reason: str, *, kept: Path | None = None) -> None:
    """Say on standard error that `place` is damaged and made again; it was moved to `kept`."""
    aside = f", and what it held is in {kept}" if kept else ""
    print(f"emulate: {place} is damaged ({reason}): it is made again{aside}", file=sys.stderr)
