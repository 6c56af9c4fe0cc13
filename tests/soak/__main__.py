"""Play scenarios/soak.yaml for long, and watch the memory and the descriptors of the platform.

    python -m tests.soak [--minutes 30] [--docs docs]

Takes an engine and the node image. The exit code is 1 if a bound was missed.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from . import figure, judgement, soaking


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--docs", type=Path, help="folder for the figure soak.png")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        soak = soaking.soak(60 * asked.minutes, Path(folder), say)
    if asked.docs:
        figure.draw(soak, asked.docs / "soak.png")
    print(judgement.table(soak))
    if missed := judgement.complaints(soak):
        sys.exit("\n".join(f"soak: {complaint}" for complaint in missed))


def say(progress: str) -> None:
    print(f"soak: {progress}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
