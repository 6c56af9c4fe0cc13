"""A link's meter at one end of a link, as a script: `metering.py SECONDS MEASURED_JSON [SERVER]`.

It prints its reports as lines of JSON. Without a server's address it is the server.
"""

import json
import selectors
import sys
import time
from typing import Any

import msgspec

from emulator.node.config import MeasuredLink
from emulator.node.fidelity.link_meter import LinkMeter


def main(seconds: str, measured: str, server: str | None = None) -> None:
    meter = LinkMeter(msgspec.json.decode(measured, type=MeasuredLink), server)
    selector = selectors.DefaultSelector()
    meter.listen(selector)

    def say(what: str, **facts: Any) -> None:
        print(json.dumps({"what": what, **facts}), flush=True)

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
