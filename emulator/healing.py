"""Damaged files of a cache: they are made again, and not in silence."""

import sys
from pathlib import Path


def made_again(place: Path, reason: str) -> None:
    """Say on standard error that what is kept in `place` is damaged and will be made again."""
    print(f"emulate: {place} is damaged ({reason}): it is made again", file=sys.stderr)
