"""How many entries of the host's tables a device takes, and each other container likewise.

    python -m tests.benchmarks.containers.host_tables [DEVICES [LINK]]       (default: 20 '{}')

LINK is a link in YAML, for example `{up: {rate: 5mbit, delay: 10ms}}`. The most that were counted
from the first container on are divided by the number of containers. What else begins on the host
meanwhile counts, too.
"""

import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from emulator.costs.host_limits import OTHERS, host_limits
from emulator.log.records import Record
from emulator.runtimes.docker.play_containers import play
from emulator.scenario import Timed, loads

SCENARIO = """
name: host-tables
training: {{dataset: mnist, model: mnist-cnn, algorithm: adacomp}}
evaluate: {{every: 100000}}
stop: {{time: 10s}}
devices:
  - {{name: home, count: {devices}, profile: {{memory: 512MiB}}, link: {link}}}
"""
EVERY = 0.3
"""Seconds between two counts."""
BRIDGES = Path("/sys/class/net")


class Counts:
    """The most entries of each table, counted in a thread."""

    def __init__(self) -> None:
        self.before = counted()
        self.most = dict(self.before)
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Counts":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._end.wait(EVERY):
            for name, now in counted().items():
                self.most[name] = max(self.most.get(name, 0), now)


class Quiet:
    """A view that shows nothing."""

    def take_timeline(self, timeline: Sequence[Timed]) -> None: ...
    def progress(self, text: str) -> None: ...
    def record(self, record: Record) -> None: ...
    def beat(self, now: float) -> None: ...


def counted() -> dict[str, int]:
    """The entries that the host has now, by the table's name."""
    found = {limit.need.name: limit.supply.used for limit in host_limits()}
    own = len([*Path("/proc/self/fd").iterdir()])
    return found | {"files": own, "ports": len([*BRIDGES.glob("*/brif/*")])}


def main(devices: int = 20, link: str = "{}") -> None:
    with tempfile.TemporaryDirectory() as runs, Counts() as counts:
        play(loads(SCENARIO.format(devices=devices, link=link)), Path(runs), Quiet())
    for name, most in counts.most.items():
        more = most - counts.before.get(name, 0)
        print(f"{name:12} {more:5} more, {more / (devices + OTHERS):5.1f} for each container")


if __name__ == "__main__":
    main(*(kind(word) for kind, word in zip((int, str), sys.argv[1:], strict=False)))
