"""Processor time of the commands by which faults change a link, on a device made for the purpose.

unshare -n .venv/bin/python -m tests.benchmarks.links.link_commands
"""

import argparse
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

from emulator.shaping import access
from emulator.shaping.backend import Backend
from emulator.shaping.command import Command, apply
from emulator.units import Fraction, Rate
from emulator.world.links.link import Link, Side

BACKEND = Backend(rate="tbf", delay="receiver", loss="nftables", cut="nftables")
TIMES = 10


def _link(rate: float, loss: float = 0.0) -> Link:
    side = Side(rate=Rate(rate), loss=Fraction(loss))
    return Link(side, side)


def _processor_seconds() -> float:
    used = [getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def main() -> None:
    """Print the mean processor time of each change of a link, in milliseconds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=TIMES, help="how often each change is made")
    times = parser.parse_args().times
    own, slow, lossy = _link(8e6), _link(4e5), _link(8e6, 0.3)
    changes = {
        "cut": access.sever(own, BACKEND),
        "mend": access.mend(own, BACKEND),
        "rates": access.change(own, slow, BACKEND),
        "rates back": access.change(slow, own, BACKEND),
        "losses": access.change(own, lossy, BACKEND),
        "losses back": access.change(lossy, own, BACKEND),
    }
    apply([Command.of("ip link add dev eth0 type veth peer name eth9")])
    apply(access.shape(own, BACKEND))
    used = dict.fromkeys(changes, 0.0)
    for _ in range(times):
        for name, commands in changes.items():
            before = _processor_seconds()
            apply(commands)
            used[name] += _processor_seconds() - before
    for name, commands in changes.items():
        print(f"{name:12} {len(commands):2} commands {1e3 * used[name] / times:6.1f} ms")


if __name__ == "__main__":
    main()
