"""Send a server hostile messages beside honest devices' work, over real sockets.

    python -m tests.hostile [--messages 1000000] [--pace 4000] [--window 1] [--seed 1] [--encrypt]

Takes no Docker, and two cores: half of the time is without an attack, to compare. The exit code is
1 if a bound was missed.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from . import outcome, siege


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--pace", type=float, default=4000.0, help="messages per second")
    parser.add_argument("--window", type=float, default=1.0, help="seconds of an attack")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--encrypt", action="store_true", help="CURVE instead of PLAIN")
    asked = parser.parse_args()
    order = siege.Order(asked.messages, asked.pace, asked.window, asked.seed, asked.encrypt)
    with tempfile.TemporaryDirectory() as folder:
        try:
            result = siege.lay(order, Path(folder), say)
        except OSError as error:
            sys.exit(f"hostile: {error}")
        log = outcome.logged(Path(folder) / "server" / "run.jsonl")
    print(outcome.table(result, log))
    if missed := outcome.complaints(result, log):
        sys.exit("\n".join(f"hostile: {complaint}" for complaint in missed))


def say(progress: str) -> None:
    print(f"hostile: {progress}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
