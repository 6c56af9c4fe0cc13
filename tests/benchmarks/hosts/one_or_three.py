"""A run on one engine beside the same run on three engines of this machine, in turns.

    python -m tests.benchmarks.hosts.one_or_three [--pairs N] [--set KEY=VALUE]... [FILE]

Plays FILE, by default the quickstart, on the usual engine and on a local cluster of three that is
started for it and ended after it: first one, then three, and again, so a host whose speed changes
slows both. Prints of each play the accuracy, the bytes of pushes and pulls, the updates in a second
and how fast the host was just before (the seconds of a loop, the smaller the faster), then the
ratios of the medians and whether they are within the bounds. Takes four minutes a pair, and half a
minute for the cluster, on a host that does nothing else. Needs root, as `emulate cluster` does, the
image and the data. The exit code is 1 if a bound is missed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from tests.gate.times import loop
from tests.layers import ROOT

ONE, THREE = "one", "three"
QUICKSTART = ROOT / "scenarios" / "quickstart.yaml"

ACCURACY, BYTES, RATE = 0.01, 0.02, 0.10
"""Bounds: the difference of accuracies, and by which shares bytes and updates/s may differ."""


@dataclass(frozen=True)
class Play:
    """The figures of a play."""

    engines: str
    loop: float
    """Seconds of a loop just before: the host's speed."""
    accuracy: float
    bytes: float
    """Bytes of pushes and pulls for an update."""
    rate: float
    """Updates in a second."""
    kept_up: bool

    @classmethod
    def of(cls, engines: str, speed: float, summary: Mapping[str, Any]) -> "Play":
        """Return the figures of a run with this `summary`, before which the loop took `speed`."""
        updates = summary["updates"]
        if summary["outcome"] != "success" or not updates:
            raise SystemExit(f"{engines}: the run has failed: {summary['detail']}")
        both = summary["push_bytes"]["total"] + summary["pull_bytes"]
        rate = updates / summary["duration_s"]
        kept_up = summary["fidelity"]["kept_up"]
        return cls(engines, speed, summary["final_accuracy"], both / updates, rate, kept_up)

    def line(self) -> str:
        """Return the figures as a row of the table."""
        kept = "yes" if self.kept_up else "no"
        return (
            f"{self.engines:<8}{1e3 * self.loop:>10.1f}{self.accuracy:>11.2%}"
            f"{self.bytes:>14,.0f}{self.rate:>12.2f}{kept:>10}"
        )


HEAD = f"{'engines':<8}{'loop, ms':>10}{'accuracy':>11}{'bytes/update':>14}{'updates/s':>12}" + (
    f"{'kept up':>10}"
)


def verdicts(plays: Sequence[Play]) -> Iterator[tuple[str, bool]]:
    """Yield a line for each bound, by the medians of `plays`, and whether it is kept."""
    one, three = ([each for each in plays if each.engines == name] for name in (ONE, THREE))

    def medians(field: str) -> tuple[float, float]:
        before, after = (median(getattr(each, field) for each in own) for own in (one, three))
        return before, after

    before, after = medians("accuracy")
    points = 100 * (after - before)
    yield _line("accuracy", f"{points:+.2f} points", "1 point", abs(after - before) <= ACCURACY)
    for field, words, bound in (("bytes", "bytes/update", BYTES), ("rate", "updates/s", RATE)):
        before, after = medians(field)
        kept = abs(after / before - 1) <= bound
        yield _line(words, f"x {after / before:.3f}", f"{bound:.0%}", kept)
    before, after = medians("loop")
    yield f"{'the host itself':<16}x {before / after:.3f} as fast before the plays on three", True


def _line(words: str, found: str, bound: str, kept: bool) -> tuple[str, bool]:
    return f"{words:<16}{found:<16}within {bound}: {'yes' if kept else 'NO'}", kept


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, default=QUICKSTART, metavar="FILE")
    parser.add_argument("--pairs", type=int, default=2, help="plays on each (default: 2)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    asked = parser.parse_args()
    words = [str(asked.file), *(word for change in asked.set for word in ("--set", change))]
    plays = []
    with tempfile.TemporaryDirectory() as name, _cluster(Path(name)) as manager:
        print(HEAD, flush=True)
        for _ in range(asked.pairs):
            for engines, more in ((ONE, []), (THREE, ["--on", "swarm"])):
                speed = loop()
                own = {"DOCKER_HOST": manager} if more else {}
                summary = _run([*words, *more, "--runs", name], own)
                plays.append(Play.of(engines, speed, summary))
                print(plays[-1].line(), flush=True)
    found = [*verdicts(plays)]
    print("", *(line for line, _ in found), sep="\n")
    sys.exit(not all(kept for _, kept in found))


@contextmanager
def _cluster(folder: Path) -> Iterator[str]:
    """Start three engines with the cache in `folder`; yield the address of their manager."""
    own = {"EMULATE_CACHE": str(folder / "cache")}
    try:
        made = _emulate(["cluster", "up", "--local", "3", "--json"], own)
        yield str(json.loads(made)["engines"][0]["socket"])
    finally:
        _emulate(["cluster", "down"], own)


def _run(words: list[str], own: Mapping[str, str]) -> dict[str, Any]:
    """Play a scenario; return the summary of the run."""
    summary: dict[str, Any] = json.loads(_emulate(["run", *words, "--json"], own))
    return summary


def _emulate(words: list[str], own: Mapping[str, str]) -> str:
    """Call `emulate` with the environment `own` on top; return its output."""
    command = [sys.executable, "-m", "emulator", *words]
    called = subprocess.run(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **own})
    if called.returncode:
        raise SystemExit(f"{' '.join(['emulate', *words])} ended with {called.returncode}")
    return called.stdout


if __name__ == "__main__":
    main()
