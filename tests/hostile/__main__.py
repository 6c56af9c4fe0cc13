"""Send a server hostile messages beside honest devices' work, over real sockets.

    python -m tests.hostile [--messages 1000000] [--pace 4000] [--window 1] [--seed 1]
                            [--only plain|curve]

Attacks a server with PLAIN, then one with CURVE by a tenth of the messages; both keep their inputs
on disk. Takes no Docker, and two cores: half of the time is without an attack, to compare. The exit
code is 1 if a bound was missed.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from . import outcome, siege

MECHANISMS = {"plain": 1.0, "curve": 0.1}
"""Mechanisms of the connections, with their shares of the messages."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--pace", type=float, default=4000.0, help="messages per second")
    parser.add_argument("--window", type=float, default=1.0, help="seconds of an attack")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=list(MECHANISMS), help="only this one, all messages")
    asked = parser.parse_args()
    missed = []
    for mechanism in [asked.only] if asked.only else MECHANISMS:
        share = 1.0 if asked.only else MECHANISMS[mechanism]
        number, encrypt = int(share * asked.messages), mechanism == "curve"
        print(f"\n{mechanism.upper()}, {number:,} messages")
        missed += attack(siege.Order(number, asked.pace, asked.window, asked.seed, encrypt))
    if missed:
        sys.exit("\n".join(f"hostile: {complaint}" for complaint in missed))


def attack(order: siege.Order) -> list[str]:
    """Carry out `order`, print the outcome, and return a sentence for each missed bound."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            result = siege.lay(order, Path(folder), say)
        except OSError as error:
            sys.exit(f"hostile: {error}")
        log = outcome.logged(Path(folder) / "server" / "run.jsonl")
    print(outcome.table(result, log))
    return outcome.complaints(result, log)


def say(progress: str) -> None:
    print(f"hostile: {progress}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
