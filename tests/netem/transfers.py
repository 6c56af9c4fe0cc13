"""How long TCP takes over links with delay and loss, inside the machine that has netem."""

import json
import traceback
from dataclasses import dataclass

from emulator.shaping import access
from emulator.shaping.backend import Backend
from emulator.units import Fraction, Rate, Seconds
from emulator.world.links.link import Link, Side

from .lab import Message, lab

MARK = "took: "
NETEM = Backend(rate="tbf", delay="netem", loss="netem")


@dataclass(frozen=True)
class Case:
    """Messages up a link with the same rate and delay both ways, on one new connection."""

    rate: float
    delay: float
    size: int
    count: int = 2
    gap: float = 0.0
    loss: float = 0.0

    @property
    def link(self) -> Link:
        rate, delay = Rate(self.rate), Seconds(self.delay)
        return Link(up=Side(rate, delay, loss=Fraction(self.loss)), down=Side(rate, delay))


EXACT = [
    Case(1e6, 0.04, 100_000, gap=2.0),
    Case(8e6, 0.04, 10_000, gap=2.0),
    Case(8e6, 0.04, 22_000, gap=0.26),
    Case(8e6, 0.04, 100_000, gap=0.54),
    Case(8e6, 0.04, 1_000_000, gap=2.5),
    Case(50e6, 0.04, 100_000, gap=0.6),
    Case(50e6, 0.04, 1_700_000, gap=1.5),
    Case(50e6, 0.01, 1_700_000, gap=3.0),
]
LOSSY = [
    Case(8e6, 0.01, 1_000_000, count=5, loss=0.01),
    Case(50e6, 0.01, 800_000, count=5, loss=0.05),
]
"""Back to back, so that all but the first find TCP as losses have made it."""


def main() -> None:
    try:
        for number, case in enumerate([*EXACT, *LOSSY]):
            times = [[message.sent, message.received] for message in _messages(case)]
            print(MARK + json.dumps([number, times]), flush=True)
    except Exception:
        traceback.print_exc()


def _messages(case: Case) -> list[Message]:
    with lab() as here:
        here.shape(access.shape(case.link, NETEM))
        return here.stream("up", case.size, case.count, case.gap).messages()


if __name__ == "__main__":
    main()
