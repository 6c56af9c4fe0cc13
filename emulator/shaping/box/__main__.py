"""The box as a program: carries packets until SIGTERM, and prints its lateness each second."""

import argparse
import gc
import os
import signal
import time
from pathlib import Path

from .carried_links import CarriedLinks
from .output_lines import OutputLines
from .request_socket import RequestSocket

TICK = 0.0
"""Default of `--tick`."""


def main() -> None:
    """Carry packets until the process is told to end."""
    parser = argparse.ArgumentParser(prog="python3 -m emulator.shaping.box", description=__doc__)
    parser.add_argument("--socket", type=Path, required=True, help="where requests are taken")
    parser.add_argument("--seed", type=int, required=True, help="seed of all random draws")
    parser.add_argument(
        "--report-every", type=float, default=1.0, help="seconds between lines of lateness"
    )
    parser.add_argument(
        "--tick", type=float, default=TICK, help="shortest time in seconds between two rounds"
    )
    serve(**vars(parser.parse_args()))


def serve(socket: Path, seed: int, report_every: float, tick: float) -> None:
    """Serve the requests at `socket` until SIGTERM or SIGINT."""
    output = OutputLines(1)
    links = CarriedLinks(seed, time.monotonic, output, tick)
    requests = RequestSocket(socket, links)
    ended = _ended(links)
    gc.freeze()
    gc.disable()  # a collection would stop all links; frames make no cycles
    output.write({"box": "ready"})
    reported, used = time.monotonic(), time.process_time()
    while not ended:
        links.loop.round(reported + report_every)
        now = time.monotonic()
        if now >= reported + report_every:
            before, used = used, time.process_time()
            summary = links.lateness.summary()
            cost = {"links": len(links), "cpu": round(used - before, 6)}
            output.write({"box": "lateness", "time": round(now, 6), **summary, **cost})
            reported = now
    requests.close()
    links.close()
    socket.unlink(missing_ok=True)


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
