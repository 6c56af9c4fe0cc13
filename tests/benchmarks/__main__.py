"""What this machine carries: real runs, beside what their parts do alone, in one go.

    python -m tests.benchmarks [PART] [--json] [--seconds 20]

Takes about two minutes for containers, one for the codecs, seconds for the schedules and the packet
box, fifteen minutes for schedules in containers (overlap), five for compute groups in containers
(groups) and ten for virtual time, whose figure it draws; wants the engine, the image and the data
(`make bench` sees to them; codecs, schedules and box need none of these), and a machine that does
nothing else.
"""

import argparse
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

from analysis import papers
from emulator.errors import EmulatorError
from emulator.learning import models
from emulator.sweeps.studies.play_study import played_by
from tests.benchmarks import durable, exchange, gradient, planning, table
from tests.benchmarks.codecs import coding, patches, segments, trained
from tests.benchmarks.containers import compute_groups, overlap
from tests.benchmarks.links import box_loop
from tests.benchmarks.virtual import cost, fleet
from tests.layers import ROOT

MEDIUM, LARGE = 1_200_000, 25_000_000
FIGURE = ROOT / "docs" / "virtual-cost.png"
BLOCKS = {"overlap": overlap, "groups": compute_groups}
"""Parts with a block in the book of the papers."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "part",
        nargs="?",
        choices=[
            "containers",
            "durable",
            "coding",
            "box",
            "schedules",
            "overlap",
            "groups",
            "virtual",
        ],
        help="only this (default: all)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long each run lasts")
    parser.add_argument(
        "--docs", type=Path, help="write the blocks of `overlap` and `groups` into the pages here"
    )
    asked = parser.parse_args()
    result: dict[str, Any] = {"host": _host()}
    try:
        measure(asked.part, asked.seconds, result)
    except EmulatorError as error:
        sys.exit(f"bench: {error}")
    finally:  # what was measured before a part that fails
        print(json.dumps(result, indent=2) if asked.json else table.page(result), flush=True)
    for name, part in BLOCKS.items():
        if asked.docs and (rows := result.get(name)):
            made, cores = [part.page_table(rows)], result["host"]["cores"]
            papers.publish_measured(
                name, asked.docs, part.claims(rows), made, part.PROTOCOL, played_by(cores)
            )


def measure(part: str | None, seconds: float, result: dict[str, Any]) -> None:
    """Add the figures of `part`, or of all parts, to `result`, each once it is measured."""
    if part in (None, "containers"):
        result |= _containers(seconds)
    if part in (None, "durable"):
        result["durable"] = _durable()
    if part in (None, "coding"):
        result |= _coding()
    if part in (None, "box"):
        say("the packet box's loop")
        result["box"] = box_loop.measure()
    if part in (None, "schedules"):
        say("planning, 16 to 1,000 layers")
        result["schedules"] = planning.measure()
    if part in (None, "overlap"):
        result["overlap"] = overlap.measure(say)
    if part in (None, "groups"):
        result["groups"] = compute_groups.measure(say)
    if part in (None, "virtual"):
        result["virtual"] = _virtual()


def _containers(seconds: float) -> dict[str, Any]:
    # first what forks: the rest opens libraries that have threads
    say("the gradient alone")
    alone = {"one_core": gradient.rate(1, 3.0), "eight": gradient.rate(exchange.PEERS, 4.0)}
    say("ZeroMQ alone")
    up, down = exchange.sizes()
    exchanges = {
        "up_bytes": up,
        "down_bytes": down,
        "plain": exchange.rate(encrypt=False, seconds=3.0),
        "encrypted": exchange.rate(encrypt=True, seconds=3.0),
    }
    return {"gradient": alone, "exchange": exchanges, "run": _runs(seconds)}


def _durable() -> dict[str, Any]:
    say("the server with and without durability")
    gradients = gradient.rate(1, 3.0)
    return {"gradients": gradients, "costs": durable.costs(8.0)}


def _coding() -> dict[str, Any]:
    layout, large = models.find(gradient.MODEL).layout, coding.flat(LARGE)
    result = {}
    for shape, repeats in [(layout, 100), (coding.flat(MEDIUM), 30), (large, 3)]:
        say(f"every codec, {shape.size:,} parameters")
        result[shape.size] = coding.measure(shape, repeats)
    say("segments, gradients of a model that has trained, and patches")
    return {
        "coding": result,
        "segments": segments.measure(layout, 100),
        "trained": trained.measure(100),
        "patches": {
            layout.size: patches.measure(layout, 0.01, 100),
            large.size: patches.measure(large, 0.0001, 100),
        },
    }


def _virtual() -> dict[str, Any]:
    say("virtual time: 200 devices train, 20,000 updates")
    training = fleet.training(20_000)
    say("virtual time: 100,000 devices, 1,000,000 updates of traffic")
    large = fleet.large()
    say("virtual time: 1,000 to 1,000,000 devices")
    scaling = fleet.scaling()
    cost.draw(scaling, FIGURE)
    return {"training": training, "large": large, "scaling": scaling, "figure": str(FIGURE)}


def _runs(seconds: float) -> dict[str, Any]:
    from tests.benchmarks.containers import world

    runs = {}
    for kind in ("plain", "encrypted"):
        say(f"emulate run, {kind}, {seconds:g} s")
        runs[kind] = world.measure(encrypt=kind == "encrypted", seconds=seconds)
    return runs


def say(step: str) -> None:
    print(f"bench: {step} ...", file=sys.stderr, flush=True)


def _host() -> dict[str, Any]:
    cores = len(os.sched_getaffinity(0))
    return {"processor": _processor(), "cores": cores, "kernel": platform.release()}


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


if __name__ == "__main__":
    main()
