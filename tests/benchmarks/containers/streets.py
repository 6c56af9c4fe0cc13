"""Members of bottlenecks in both runtimes: the mean time from update to update of each member.

`python -m tests.benchmarks.containers.streets [NAME ...]` plays the worlds of `WORLDS` in
containers for half a minute each, and in virtual time with the mean computing time of the
containers.
"""

import argparse
import tempfile
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import emulator

SECONDS = 40
SKIPPED = 3.0
"""Seconds at the begin that do not count."""


class World(NamedTuple):
    """Devices behind bottlenecks, or none, and their algorithm."""

    algorithm: str
    bottlenecks: str
    """Text of a YAML list, in one line."""
    devices: dict[str, str]
    """The link of each device as text; empty without one."""


def _both(side: str, link: str) -> str:
    """Return a link with 50 mbit, apart from the `side` that is `link`."""
    other = "down" if side == "up" else "up"
    delay = link.partition("delay: ")[2].partition(",")[0] or "0ms"
    return f"{{{side}: {{{link}}}, {other}: {{rate: 50mbit, delay: {delay}}}}}"


def _streets(algorithm: str, up: str, down: str, links: dict[str, tuple[str, str]]) -> World:
    """Return the same members behind an uplink and behind a downlink; `links` by member."""
    devices = {
        f"{way}-{name}": _both(way, own[number]) if own[number] else ""
        for number, way in enumerate(("up", "down"))
        for name, own in links.items()
    }
    lines = f'[{{name: lower, up: {{{up}}}, members: ["up-*"]}}, '
    lines += f'{{name: upper, down: {{{down}}}, members: ["down-*"]}}]'
    return World(algorithm, lines, devices)


def _alike(*links: str) -> dict[str, tuple[str, str]]:
    return {name: (link, link) for name, link in zip("abc", links, strict=True)}


_RATE = "rate: 24mbit"
_SPARSE = {
    "a": ("", ""),
    "b": ("rate: 600kbit, delay: 20ms", "rate: 12mbit, delay: 20ms"),
    "c": ("rate: 200kbit, delay: 20ms", "rate: 4mbit, delay: 20ms"),
}
WORLDS = {
    "equal": _streets("asgd", f"{_RATE}, delay: 5ms", f"{_RATE}, delay: 5ms", _alike("", "", "")),
    "unequal": _streets("asgd", _RATE, _RATE, _alike("", "rate: 12mbit", "rate: 4mbit")),
    "delays": _streets("asgd", _RATE, _RATE, _alike("delay: 5ms", "delay: 20ms", "delay: 50ms")),
    "loss": _streets(
        "asgd",
        _RATE,
        _RATE,
        _alike("delay: 10ms", "rate: 20mbit, delay: 10ms, loss: 0.2%", "rate: 4mbit, delay: 10ms"),
    ),
    "sparse": _streets("adacomp", "rate: 1mbit", _RATE, _SPARSE),
    "alone": World(
        "adacomp",
        "[]",
        {
            f"{rate}": f"{{up: {{rate: {rate}, delay: 20ms}}, down: {{rate: 50mbit, delay: 20ms}}}}"
            for rate in ("200kbit", "500kbit", "1mbit")
        },
    ),
}


def main() -> None:
    """Play the worlds that are named, or all; print a line for each device."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(WORLDS))
    for name in parser.parse_args().names or WORLDS:
        containers, computing = _cycles(name, "docker", 0.01)
        virtual, _ = _cycles(name, "virtual", computing)
        print(f"{name}: {1e3 * computing:.1f} ms of computing")
        for device, cycle in containers.items():
            other = virtual[device]
            print(f"  {device:10} {cycle:.4f} s, {other:.4f} s: {cycle / other - 1:+.1%}")


def _cycles(name: str, on: str, step: float) -> tuple[dict[str, float], float]:
    """Play a world; return each device's mean time between updates, and the mean computing time."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "street.yaml")
        file.write_text(_text(WORLDS[name], step))
        run = emulator.run(file, on="docker" if on == "docker" else "virtual", runs=folder)
        updates = run.updates[run.updates["at"] >= SKIPPED]
    cycles = {str(node): fmean(own["at"].diff().dropna()) for node, own in updates.groupby("node")}
    return cycles, fmean(updates["compute"])


def _text(world: World, step: float) -> str:
    devices = [
        f"  - {{name: {name}{f', link: {link}' if link else ''}}}"
        for name, link in world.devices.items()
    ]
    head = f"training: {{dataset: mnist, model: mnist-cnn, algorithm: {world.algorithm}}}"
    assumed = f"virtual: {{step: {1e3 * step:.3f}ms, boot: 1s, serve: 1ms}}"
    lines = ["name: street", "seed: 3", head, "evaluate: {every: 100000}"]
    lines += [f"stop: {{time: {SECONDS}s}}", assumed, f"bottlenecks: {world.bottlenecks}"]
    return "\n".join([*lines, "devices:", *devices]) + "\n"


if __name__ == "__main__":
    main()
