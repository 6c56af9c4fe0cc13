"""Costs that limit a fleet on several hosts, and the limits on paper (docs/scale.md).

    python -m tests.benchmarks.hosts [--json]
    python -m tests.benchmarks.hosts --paper [FILE]

The first measures, in about two minutes: devices in containers on `dsl` links and on unshaped ones,
a tunnel and greetings between two processes of this machine. It wants the engine and the image
(`emulate images`). The second prints the limits by arithmetic, from the costs of docs/scale.md, or
from those in FILE that the first printed with `--json`. Costs of processor time grow with what
else the machine does, for its caches are shared: `loop_s` tells its speed, the smaller the faster.
"""

import argparse
import json
from pathlib import Path

from tests.gate.times import loop

from . import fleet_costs, on_paper, tunnel_costs


def measure() -> dict[str, float]:
    """Return all costs by name."""
    speed = loop()
    waits = fleet_costs.measure(60, "dsl", 30.0)
    # on `dsl` the server has few updates, and its packets and reports outweigh them
    waits["server_update_ms"] = fleet_costs.measure(8, "{}", 12.0)["server_update_ms"]
    return {"loop_s": speed, **waits, **tunnel_costs.measure(), **tunnel_costs.hellos()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--paper", nargs="?", const="", metavar="FILE", help="print the limits by arithmetic"
    )
    asked = parser.parse_args()
    if asked.paper is None:
        costs = measure()
        text = [json.dumps(costs, indent=1)] if asked.json else _page(costs)
    else:
        known = json.loads(Path(asked.paper).read_text()) if asked.paper else on_paper.MEASURED
        text = [*on_paper.tables(known, on_paper.HostSize())]
    print("\n".join(text))


def _page(costs: dict[str, float]) -> list[str]:
    return [f"{name:26} {value:12,.3f}" for name, value in costs.items()]


if __name__ == "__main__":
    main()
