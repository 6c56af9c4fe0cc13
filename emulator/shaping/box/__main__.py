"""The box as a program: carries packets until SIGTERM, and prints its lateness each second."""

import argparse
import gc
import os
import signal
import time
from pathlib import Path

from ...machine.kernel import raise_limit
from .carried_links import CarriedLinks
from .output_lines import OutputLines
from .request_socket import RequestSocket

TICK = 1e-3
"""Default of `--tick`."""
BUSY = 0.3
"""Share of a core from which frames share rounds, which costs each frame less of the core."""


def main() -> None:
    """Carry packets until the process is told to end."""
    parser = argparse.ArgumentParser(prog="python3 -m emulator.shaping.box", description=__doc__)
    parser.add_argument("--socket", type=Path, required=True, help="where requests are taken")
    parser.add_argument("--seed", type=int, required=True, help="seed of all random draws")
    parser.add_argument(
        "--report-every", type=float, default=1.0, help="seconds between lines of lateness"
    )
    parser.add_argument(
        "--tick",
        type=float,
        default=TICK,
        help="shortest time in seconds between two rounds of a busy box",
    )
    serve(**vars(parser.parse_args()))


def serve(socket: Path, seed: int, report_every: float, tick: float) -> None:
    """Serve the requests at `socket` until SIGTERM or SIGINT."""
    files = raise_limit()
    output = OutputLines(1)
    links = CarriedLinks(seed, time.monotonic, output)
    requests = RequestSocket(socket, links, files)
    ended = _ended(links)
    realtime = _hurry()
    gc.freeze()
    gc.disable()  # a collection would stop all links; frames make no cycles
    output.write({"box": "ready", "realtime": realtime})
    reported, used = time.monotonic(), time.process_time()
    while not ended:
        links.loop.round(reported + report_every)
        now = time.monotonic()
        if now >= reported + report_every:
            before, used = used, time.process_time()
            summary = links.lateness.summary()
            counts = {"dropped": links.dropped(), "links": len(links)}
            facts = {"time": round(now, 6), **summary, **counts, "cpu": round(used - before, 6)}
            output.write({"box": "lateness", **facts})
            busy = used - before > BUSY * (now - reported)
            links.loop.tick = tick if busy else 0.0
            requests.accept_again()
            reported = now
    requests.close()
    links.close()
    socket.unlink(missing_ok=True)


def _hurry() -> bool:
    """Run before all ordinary processes, if this process may; return whether it may.

    The right is SYS_NICE; a container on a kernel with RT_GROUP_SCHED does not get it.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except OSError:
        return False
    return True


def _ended(links: CarriedLinks) -> list[int]:
    """Return a list that gets the number of the signal that ends the box, and wakes its loop."""
    ended: list[int] = []
    wakes, wake = os.pipe()
    os.set_blocking(wake, False)
    links.loop.watch(wakes, lambda: None)
    signal.set_wakeup_fd(wake)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: ended.append(number))
    return ended


if __name__ == "__main__":
    main()
