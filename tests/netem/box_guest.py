"""The packet box beside netem, on one kernel inside the machine that has netem.

Each case is measured with netem's commands and with the box: a line of JSON on the console.
"""

import json
import traceback
from typing import Any

from emulator.shaping import access
from emulator.shaping.backend import Backend
from emulator.units import Fraction, Rate, Seconds
from emulator.world.links.link import Link, Side
from emulator.world.links.loss_models import Gemodel, LossModel

from .box import TBF, PacketBox, packet_box
from .lab import Lab, lab

MARK = "beside: "
NETEM = Backend(rate="tbf", delay="netem", loss="netem")
LATE = Seconds(0.05)
GEMODEL = LossModel(Gemodel(Fraction(0.05), Fraction(0.25)))
SPRAYS: dict[str, tuple[Side, int, float]] = {
    "loss": (Side(delay=LATE, loss=Fraction(0.05)), 1500, 0.004),
    "gemodel": (Side(delay=LATE, loss_model=GEMODEL), 3000, 0.004),
    "duplicate": (Side(delay=LATE, duplicate=Fraction(0.05)), 1500, 0.004),
    "doubled": (Side(Rate(2e6), LATE, duplicate=Fraction(1.0)), 40, 0.0045),
    "corrupt": (Side(delay=LATE, corrupt=Fraction(0.05)), 1500, 0.004),
    "reorder": (Side(delay=LATE, reorder=Fraction(0.2)), 1500, 0.004),
    "jitter": (Side(delay=LATE, jitter=Seconds(0.005)), 600, 0.03),
}
"""Side up, number of datagrams and seconds between them."""
SIZE = 1000
ECHO = Side(delay=Seconds(0.02))
TRANSFERS = {
    "100 kB": (Side(Rate(8e6), Seconds(0.04)), 100_000),
    "1 MB": (Side(Rate(8e6), Seconds(0.04)), 1_000_000),
}


def main() -> None:
    try:
        with packet_box() as box:
            for key in ("echo", *TRANSFERS, *SPRAYS):
                for means, carrier in (("netem", None), ("box", box)):
                    seen = _seen(carrier, key)
                    print(MARK + json.dumps([means, key, seen]), flush=True)
    except Exception:
        traceback.print_exc()


def _seen(box: PacketBox | None, key: str) -> Any:
    """Return what is measured in the case `key`; `box` None stands for netem."""
    if key == "echo":
        return _echo(box)
    return _spray(box, key) if key in SPRAYS else _transfer(box, key)


def _shape(here: Lab, link: Link, box: PacketBox | None) -> None:
    if box is None:
        here.shape(access.shape(link, NETEM))
    else:
        box.attach(here, link, TBF)
    here.ping(1)  # who has the address is asked once


def _echo(box: PacketBox | None) -> list[float | None]:
    """Return round-trip times in seconds."""
    with lab() as here:
        _shape(here, Link(ECHO, ECHO), box)
        return here.ping(100, gap=0.02)


def _spray(box: PacketBox | None, key: str) -> list[list[float]]:
    """Return number of each datagram and the seconds that it took, in order of arrival."""
    side, count, gap = SPRAYS[key]
    with lab() as here:
        _shape(here, Link(up=side), box)
        seen = here.spray("up", count, gap, SIZE)
        return [[number, round(received - sent, 6)] for number, sent, received in seen]


def _transfer(box: PacketBox | None, key: str) -> float:
    """Return the seconds that a message took on a new connection."""
    side, size = TRANSFERS[key]
    with lab() as here:
        _shape(here, Link(side, side), box)
        (message,) = here.stream("up", size).messages()
        return message.took


if __name__ == "__main__":
    main()
