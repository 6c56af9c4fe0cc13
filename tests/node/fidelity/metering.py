"""A link's meter at one end of a link: `metering.py SECONDS MEASURED_JSON [SERVER [BOX BOXED]]`.

It prints its reports as lines of JSON. Without a server's address it is the server. With the path
of a box it puts its network behind the link of the JSON `BOXED` first.
"""

import json
import os
import selectors
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from emulator.node.config import Boxed, MeasuredLink
from emulator.node.fidelity.link_meter import LinkMeter
from emulator.node.link import box_end
from emulator.node.link.box_end import BoxEnd
from emulator.node.reports import LinkReport


def main(
    seconds: str, measured: str, server: str | None = None, path: str = "", boxed: str = ""
) -> None:
    asked, more = msgspec.json.decode(measured, type=MeasuredLink), dict[str, Any]()
    if path:
        box_end.BOX = Path(path)
        end = BoxEnd(f"metered-{os.getpid()}", msgspec.json.decode(boxed, type=Boxed))
        end.attach()
        more = {"box_losses": end.losses, "box_queues": end.queues}
    meter = LinkMeter(asked, server, **more)
    selector = selectors.DefaultSelector()
    meter.listen(selector)

    def say(report: LinkReport) -> None:
        known = {name: value for name, value in report.facts().items() if value is not None}
        print(json.dumps(known), flush=True)

    print("ready", flush=True)
    until = time.monotonic() + float(seconds)
    while (now := time.monotonic()) < until:
        for key, _ in selector.select(max(0.0, min(0.2, meter.due() - now))):
            key.data()
        if time.monotonic() >= meter.due():
            meter.tick(time.monotonic(), None, cut=False)
            meter.report(time.monotonic(), say)
    meter.report(time.monotonic(), say, last=True)
    meter.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
