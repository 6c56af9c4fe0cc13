"""Every key of a link, measured inside the machine with netem; one line of JSON on its console.

Each measurement has a lab of its own, and all labs run at once: the machine's processor is idle
while packets are under way.
"""

import json
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from emulator.shaping import access
from emulator.shaping.backend import Backend, choose
from emulator.shaping.probe import probe
from emulator.units import Fraction, Rate, Seconds
from emulator.world.links.link import Link, Side
from emulator.world.links.loss_models import FourStates, Gemodel, LossModel

from .lab import Way, lab

MARK = "keys: "
FAST = Rate(100e6)
LATE = Seconds(0.05)
JITTER = Seconds(0.005)
GEMODEL = LossModel(Gemodel(Fraction(0.1), Fraction(0.25)))
FOUR = LossModel(state=FourStates(Fraction(0.08), Fraction(0.25), p14=Fraction(0.01)))

SPRAYS: dict[str, tuple[Way, Side, int, float]] = {
    "loss": ("up", Side(FAST, loss=Fraction(0.05)), 1500, 0.002),
    "gemodel": ("up", Side(FAST, loss_model=GEMODEL), 4000, 0.002),
    "state": ("down", Side(FAST, loss_model=FOUR), 4000, 0.002),
    "duplicate": ("up", Side(FAST, duplicate=Fraction(0.05)), 1500, 0.002),
    "corrupt": ("down", Side(FAST, corrupt=Fraction(0.05)), 1500, 0.002),
    "reorder": ("up", Side(FAST, LATE, reorder=Fraction(0.2)), 1500, 0.005),
    "gap": ("up", Side(FAST, LATE, reorder=Fraction(1), gap=5), 200, 0.005),
    "normal": ("up", Side(FAST, LATE, JITTER), 600, 0.03),
    "uniform": ("up", Side(FAST, LATE, JITTER, distribution="uniform"), 400, 0.03),
    "pareto": ("down", Side(FAST, LATE, JITTER, distribution="pareto"), 800, 0.03),
    "paretonormal": ("up", Side(FAST, LATE, JITTER, distribution="paretonormal"), 800, 0.03),
    "correlation": ("up", Side(FAST, LATE, JITTER, correlation=Fraction(0.8)), 300, 0.03),
    "limit": ("up", Side(FAST, Seconds(0.5), limit=20), 100, 0.0005),
}
"""Way, side, number of datagrams and seconds between them."""
SIZES = {"corrupt": 1000}
"""Bytes of a datagram: of the header of a frame, no checksum covers the sender's address."""
OVERHEAD = Side(Rate(2e6), Seconds(0.01), overhead=300)
BULK = 300_000
ECHO = Side(delay=Seconds(0.02))
WAYS: tuple[Way, Way] = ("up", "down")


def main() -> None:
    try:
        print(MARK + json.dumps(_measured()), flush=True)
    except Exception:
        traceback.print_exc()


def _measured() -> dict[str, Any]:
    links = [_link(way, side) for way, side, _, _ in SPRAYS.values() if not side.correlation]
    backend = choose(probe(), links)
    with ThreadPoolExecutor(len(SPRAYS)) as labs:
        sprays = {key: labs.submit(_spray, key, backend) for key in SPRAYS}
        seen = {key: spray.result() for key, spray in sprays.items()}
    rates = {way: _times(way, backend) for way in WAYS}
    with lab() as here:
        here.shape(access.shape(Link(up=ECHO, down=ECHO), backend))
        here.ping(1)
        echoes = here.ping(30, gap=0.06)
    return {"backend": backend.plain(), "echo": echoes, "rates": rates, **seen}


def _times(way: Way, backend: Backend) -> list[list[float]]:
    """When two messages were sent and received whole, with nothing but their bytes on the link."""
    with lab() as here:
        here.shape(access.shape(_link(way, OVERHEAD), backend))
        messages = here.stream(way, BULK, count=2).messages()
        return [[message.sent, message.received] for message in messages]


def _link(way: Way, side: Side) -> Link:
    return Link(up=side) if way == "up" else Link(down=side)


def _spray(key: str, backend: Backend) -> list[list[float]]:
    """Return number and seconds on the way of each datagram, in order of arrival."""
    way, side, count, gap = SPRAYS[key]
    with lab() as here:
        here.shape(access.shape(_link(way, side), backend))
        here.ping(1)  # who has the address is asked once
        seen = here.spray(way, count, gap, SIZES.get(key, 16))
        return [[number, round(received - sent, 6)] for number, sent, received in seen]


if __name__ == "__main__":
    main()
