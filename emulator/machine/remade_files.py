"""Report of damaged cache files, which are made again."""

import sys
from pathlib import Path


def made_again(place: Path, reason: str, *, kept: Path | None = None) -> None:
    """Report on standard error that the damaged `place` is made again; `kept` holds the old
    files."""
    kept_in = f", and its old files are in {kept}" if kept else ""
    print(f"emulate: {place} is damaged ({reason}): it is made again{kept_in}", file=sys.stderr)
