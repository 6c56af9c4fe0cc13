"""Draw the figures of runs: `python -m analysis RUN… [--out DIR]`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from . import RunError, read
from .pictures.drawing import pngs


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m analysis", description=__doc__)
    parser.add_argument("run", type=Path, nargs="+", help="folder of a run")
    parser.add_argument(
        "--out", type=Path, help="folder of the figures; RUN/figures for a single run"
    )
    options = parser.parse_args(arguments)
    if len(options.run) > 1 and options.out is None:
        parser.error("several runs need a folder for their figures: give --out")
    try:
        paths = pngs([read(folder) for folder in options.run], options.out)
    except RunError as error:
        print(error, file=sys.stderr)
        return 1
    print(*paths, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
