"""What is measured inside the machine with netem; one line of JSON on its console."""

import json
import time
import traceback
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from emulator.shaping import access
from emulator.shaping.backend import Backend, choose
from emulator.shaping.features import Features
from emulator.shaping.probe import probe
from emulator.units import Fraction, Rate, Seconds
from emulator.world.links.link import Link, Side

from .lab import Lab, Way, lab

MARK = "measured: "
WAYS: tuple[Way, Way] = ("up", "down")
DELAY = Side(delay=Seconds(0.04))
JITTER = Side(delay=Seconds(0.05), jitter=Seconds(0.005))
RATE = Side(Rate(8e6), Seconds(0.02), Seconds(0.002))
LOSS = Fraction(0.1)
LEAST_LOST, MOST_LOST = 0.083, 0.117
"""Of 2,000 packets 99 in 100 honest trials lose so many."""
BULK = 1_000_000
STEP = 0.001
"""Seconds between pings where their order is looked at."""


def main() -> None:
    try:
        print(MARK + json.dumps(_measured()), flush=True)
    except Exception:
        traceback.print_exc()


def _measured() -> dict[str, Any]:
    features = probe()
    links = [Link(up=DELAY, down=RATE), Link(up=Side(loss=LOSS))]
    backend = choose(features, links, cuts=True)
    return {
        "features": features.plain(),
        "backend": backend.plain(),
        "rtt": _rtt(Link(up=DELAY, down=DELAY), backend, count=100, gap=0.02),
        "jittered": _rtt(Link(up=JITTER), backend, count=250, gap=0.03),
        "ordered": _rtt(Link(up=JITTER), backend, count=500, gap=STEP),
        "streams": _streams(backend),
        "lost": {way: _lost(way, backend) for way in WAYS},
        "cuts": {cut.cut: _cut(cut) for cut in _cuts(features, backend)},
        "again": {cut.cut: _again(cut) for cut in _cuts(features, backend)},
    }


def _cuts(features: Features, backend: Backend) -> list[Backend]:
    nftables = [replace(backend, cut="nftables")] if features.egress else []
    return [replace(backend, cut="netem"), *nftables]


def _shaped(stack: ExitStack, link: Link, backend: Backend) -> Lab:
    here = stack.enter_context(lab())
    here.shape(access.shape(link, backend))
    return here


def _rtt(link: Link, backend: Backend, count: int, gap: float) -> list[float | None]:
    with ExitStack() as stack:
        here = _shaped(stack, link, backend)
        here.ping(1)  # who has the address is asked once
        return here.ping(count, gap)


def _streams(backend: Backend) -> dict[str, list[list[float]]]:
    """When two messages were sent and received whole, by way, each in a lab of its own."""
    with ExitStack() as stack:
        running = {
            way: _shaped(stack, Link(up=RATE, down=RATE), backend).stream(way, BULK, count=2)
            for way in WAYS
        }
        return {
            way: [[message.sent, message.received] for message in stream.messages()]
            for way, stream in running.items()
        }


def _lost(way: Way, backend: Backend) -> list[float]:
    """Shares of as many trials as it takes to be within bounds, at most two."""
    side = Side(Rate(50e6), loss=LOSS)
    shares: list[float] = []
    with ExitStack() as stack:
        here = _shaped(stack, Link(up=side) if way == "up" else Link(down=side), backend)
        while len(shares) < 2 and not (shares and LEAST_LOST <= shares[-1] <= MOST_LOST):
            times = here.ping(2000, gap=0.001, wait=0.5)
            shares.append(times.count(None) / len(times))
    return shares


def _cut(backend: Backend) -> dict[str, Any]:
    """A cut of a second in a connection that is being used."""
    link = Link(up=RATE, down=RATE)
    with ExitStack() as stack:
        here = _shaped(stack, link, backend)
        streams = [here.stream(way, size=200, count=50, gap=0.08) for way in WAYS]
        time.sleep(2.0)
        here.shape(access.sever(link, backend))
        here.shape(access.sever(link, backend))
        cut = time.monotonic()
        time.sleep(1.0)
        mended = time.monotonic()
        here.shape(access.mend(link, backend))
        received = [[message.received for message in stream.messages()] for stream in streams]
        return {"cut": cut, "mended": mended, "received": received}


def _again(backend: Backend) -> int:
    """Segments that TCP sent again of a message that it sent up into a cut."""
    link = Link(up=RATE, down=RATE)
    with ExitStack() as stack:
        here = _shaped(stack, link, backend)
        stream = here.stream("up", size=60_000, pause=6.0)
        time.sleep(4.0)
        here.shape(access.sever(link, backend))
        cut = time.monotonic()
        time.sleep(8.0)
        mended = time.monotonic()
        here.shape(access.mend(link, backend))
        (message,) = stream.messages()
        assert cut < message.sent < mended, (cut, message.sent, mended)
        return stream.again()


if __name__ == "__main__":
    main()
