"""All cuts of a phase, each played by a simulator that knows nothing of the schedules' formulas."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from emulator.schedules import Segments

Job = tuple[str, Any, list[int]]
"""Machine, seconds, and the jobs (by their numbers) that must have ended before this job."""


def every_cut(layers: int) -> Iterator[Segments]:
    """Yield the segments, first layers first, of each of the 2^(layers - 1) vectors of cuts."""
    for bits in range(2 ** (layers - 1)):
        ends = [layer for layer in range(1, layers) if bits >> (layer - 1) & 1] + [layers]
        begins = [1, *(end + 1 for end in ends[:-1])]
        yield tuple(zip(begins, ends, strict=True))


def pull_seconds(segments: Segments, setup: Any, transfer: Sequence[Any], forward: Any) -> Any:
    """Play a pull: each layer's forward pass waits for its segment and for the layer before."""
    jobs: list[Job] = []
    for first, last in segments:
        jobs.append(("link", setup + sum(transfer[first - 1 : last]), []))
    for number, (first, last) in enumerate(segments):
        for layer in range(first, last + 1):
            jobs.append(("processor", forward[layer - 1], [number]))
    return _play(jobs)


def push_seconds(segments: Segments, setup: Any, transfer: Sequence[Any], backward: Any) -> Any:
    """Play a push in `segments`, last layers first: each segment waits for all its gradients."""
    layers = len(transfer)
    jobs: list[Job] = [("processor", backward[layer - 1], []) for layer in range(layers, 0, -1)]
    for first, last in segments:
        gradients = [layers - layer for layer in range(first, last + 1)]
        jobs.append(("link", setup + sum(transfer[first - 1 : last]), gradients))
    return _play(jobs)


def _play(jobs: list[Job]) -> Any:
    """Return when all `jobs` have ended; a machine does its jobs in their order, one at a time."""
    free = {"link": 0, "processor": 0}
    ended: list[Any] = []
    for machine, seconds, needed in jobs:
        began = max(chain([free[machine]], (ended[job] for job in needed)))
        free[machine] = began + seconds
        ended.append(free[machine])
    return max(ended)
