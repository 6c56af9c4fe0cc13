"""What this machine carries: real runs, beside what their parts do alone, in one go.

    python tests/bench.py [--json] [--seconds 20]

Takes about two minutes; wants the engine, the image and the data (`make bench` sees to them), and
a machine that does nothing else.
"""

import argparse
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

from benchmarks import coding, exchange, gradient, table

from emulator import models
from emulator.errors import EmulatorError

LARGE = 25_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long each run lasts")
    asked = parser.parse_args()
    try:
        found = measure(asked.seconds)
    except EmulatorError as error:
        sys.exit(f"bench: {error}")
    print(json.dumps(found, indent=2) if asked.json else table.page(found))


def measure(seconds: float) -> dict[str, Any]:
    # first what forks: the rest opens libraries that have threads
    say("the gradient alone")
    cores = len(os.sched_getaffinity(0))
    alone = {"one_core": gradient.rate(1, 3.0), "eight": gradient.rate(exchange.PEERS, 4.0)}
    say("ZeroMQ alone")
    up, down = exchange.sizes()
    exchanges = {
        "up_bytes": up,
        "down_bytes": down,
        "plain": exchange.rate(encrypt=False, seconds=3.0),
        "encrypted": exchange.rate(encrypt=True, seconds=3.0),
    }
    say("the codec")
    layout = models.find(gradient.MODEL).layout
    codes = {
        layout.size: coding.milliseconds(layout, 200),
        LARGE: coding.milliseconds(coding.flat(LARGE), 5),
    }
    return {
        "host": {"processor": _processor(), "cores": cores, "kernel": platform.release()},
        "gradient": alone,
        "exchange": exchanges,
        "run": _runs(seconds),
        "coding": codes,
    }


def _runs(seconds: float) -> dict[str, Any]:
    from benchmarks import world

    runs = {}
    for kind in ("plain", "encrypted"):
        say(f"emulate run, {kind}, {seconds:g} s")
        runs[kind] = world.measure(encrypt=kind == "encrypted", seconds=seconds)
    return runs


def say(step: str) -> None:
    print(f"bench: {step} ...", file=sys.stderr, flush=True)


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


if __name__ == "__main__":
    main()
