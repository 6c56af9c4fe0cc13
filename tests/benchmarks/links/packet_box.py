"""Accuracy and cost of the packet box between namespaces of this host, as tables; needs root.

python -m tests.benchmarks.links.packet_box [transfers|round_trips|jitters|goodputs|fleets] …
"""

import argparse
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from statistics import fmean, median, quantiles, stdev
from typing import Any

from emulator.shaping.backend import Backend
from emulator.units import Rate, Seconds
from emulator.world.links.link import Link, Side
from tests.netem.box import BARE, TBF, PacketBox, packet_box
from tests.netem.lab import Lab, Way, lab
from tests.netem.true_times import TRANSFERS, transfer

TRIES = 3
DELAYS = (0.0025, 0.005, 0.0125, 0.025, 0.05, 0.1, 0.3)
RATES = (0.25e6, 1e6, 10e6, 50e6, 100e6)
JITTERS = ((0.05, 0.005, 0.03), (0.1, 0.02, 0.12))
"""Delay, jitter, and time between packets: far enough apart, as none overtakes another."""
FLEET = 40
FLEET_RATE = 8e6
SATURATED = 10
"""Seconds for which a fleet sends."""


def _link(rate: float | None, delay: float, jitter: float = 0.0) -> Link:
    side = Side(None if rate is None else Rate(rate), Seconds(delay), Seconds(jitter))
    return Link(side, side)


def transfers() -> None:
    """Print how long messages take, the best of `TRIES`, beside true netem's times."""
    print("transfer up on a new connection, s   netem  box: best    error   median")
    with packet_box() as box:
        for (size, rate, delay), netem in TRANSFERS.items():
            for backend in (TBF, BARE):
                found = [transfer(box, backend, size, rate, delay) for _ in range(TRIES)]
                best = min(found)
                what = f"  {size / 1e3:.0f} kB, {rate / 1e6:.0f} mbit, rate by {backend.rate}"
                print(
                    f"{what:34}{netem:8.4f} {best:10.4f} {best / netem - 1:+8.1%} "
                    f"{median(found):8.4f}",
                    flush=True,
                )


def round_trips() -> None:
    """Print by how much round trips exceed both delays, in ms."""
    print("round trip over both delays, ms     mean   p50    p99    max")
    with packet_box() as box:
        for delay in (0.0, *DELAYS):
            with lab() as here:
                if delay:
                    box.attach(here, _link(50e6, delay))
                here.ping(1)
                times = [each for each in here.ping(400, gap=0.01) if each is not None]
            over = sorted(1e3 * (each - 2 * delay) for each in times)
            values = fmean(over), median(over), quantiles(over, n=100)[98], over[-1]
            what = f"  {1e3 * delay:.1f} ms one way" if delay else "  bare veth"
            print(f"{what:32}" + "".join(f"{value:7.2f}" for value in values), flush=True)


def jitters() -> None:
    """Print mean and deviation of jittered delays, in ms."""
    print("jitter, ms: asked               mean     sd   (of a round trip, one way shaped)")
    with packet_box() as box:
        for delay, jitter, gap in JITTERS:
            with lab() as here:
                box.attach(here, Link(up=_link(None, delay, jitter).up))
                here.ping(1)
                times = [1e3 * each for each in here.ping(250, gap=gap) if each is not None]
            what = f"  {1e3 * delay:.0f} {1e3 * jitter:.0f}"
            print(f"{what:29}{fmean(times):7.2f}{stdev(times):7.2f}", flush=True)


def goodputs() -> None:
    """Print the goodput after slow start, as a share of 1448/1514 of the rate."""
    print("goodput / (1448/1514 rate)      up     down")
    with packet_box() as box:
        for backend in (TBF, BARE):
            for rate in RATES:
                shares = [_goodput(box, backend, rate, way) for way in ("up", "down")]
                what = f"  {rate / 1e6:g} mbit, {backend.rate}"
                print(f"{what:28}" + "".join(f"{share:8.4f}" for share in shares), flush=True)


def _goodput(box: PacketBox, backend: Backend, rate: float, way: Way) -> float:
    """Return the goodput of the last of a few messages, each of three seconds.

    The box's own queue drops at the end of slow start: there the first message is late, and the
    second one comes early.
    """
    size, count = round(3 * rate / 8), 2 if backend is TBF else 3
    link = _link(rate, 0.025)
    with lab() as here:
        box.attach(here, link, backend)
        *_, before, last = here.stream(way, size, count=count).messages()
    return (link.up.transfer(size) - link.up.delay) / (last.received - before.received)


def fleets() -> None:
    """Print cost and lateness of the box while `FLEET` links are saturated downwards."""
    print(f"{FLEET} links of {FLEET_RATE / 1e6:.0f} mbit saturated down, by the tick of a busy box")
    print("      tick  box, cores  packets/s  late p50    p99    max, ms  goodput  dropped")
    for tick in (0.0, 0.001):
        _fleet(tick)


def _fleet(tick: float) -> None:
    link = _link(FLEET_RATE, 0.025)
    size = round(SATURATED * FLEET_RATE / 8 * 0.95)
    with packet_box("--tick", str(tick)) as box, ExitStack() as stack:
        labs: list[Lab] = []
        for _ in range(FLEET):
            labs.append(stack.enter_context(lab()))
            box.attach(labs[-1], link)
        streams = [here.stream("down", size, pause=15.0) for here in labs]
        messages = [stream.messages()[0] for stream in streams]
        wanted = link.down.transfer(size)
        shares = [wanted / message.took for message in messages]
        began = max(message.sent for message in messages) + 1.0
        ended = min(message.received for message in messages) - 0.5
        while box.line("lateness")["time"] < ended:
            pass
        seen = [line for line in box.lines if began + 1.0 < line.get("time", 0.0) < ended]
        dropped = sum(box.report(here.near)["down"]["dropped"] for here in labs)
    print(_row(tick, seen) + f"{fmean(shares):9.3f} {dropped:8}", flush=True)


def _row(tick: float, seen: list[dict[str, Any]]) -> str:
    cores, packets = fmean(line["cpu"] for line in seen), fmean(line["packets"] for line in seen)
    late = [1e3 * max(line[key] for line in seen) for key in ("p50", "p99", "max")]
    return f"{1e3 * tick:7.0f} ms {cores:11.3f} {packets:10.0f}" + "{:10.2f}{:7.2f}{:7.2f}".format(
        *late
    )


PARTS: dict[str, Callable[[], None]] = {
    part.__name__: part for part in (transfers, round_trips, jitters, goodputs, fleets)
}


def main() -> None:
    """Print the tables of the parts that are named, or of all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parts = parser.parse_args().parts
    print(f"{os.cpu_count()} cores, Linux {os.uname().release}, load {os.getloadavg()[0]:.1f}")
    for name in parts or PARTS:
        print()
        began = time.monotonic()
        PARTS[name]()
        took = time.monotonic() - began
        print(f"  ({took:.0f} s, load {os.getloadavg()[0]:.1f})")


if __name__ == "__main__":
    main()
