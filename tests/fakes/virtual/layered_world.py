"""Small worlds in virtual time in which devices compute layer by layer."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple
from unittest.mock import patch

from emulator.core.server.staging import Staging
from emulator.core.wire.messages import UpdateSegment
from emulator.core.worker.worker import Forward
from emulator.runtimes.virtual.device.virtual_device import VirtualDevice
from emulator.runtimes.virtual.learning.gradient_handle import PrefetchedSegment
from tests.fakes.plain_records import PlainRecord

LAYERED = """
# Does it overlap?
name: layered
seed: 3
training: {dataset: digits, model: digits-mlp, batch_size: 8, codec: dense, schedule: dynacomm}
evaluate: {every: 50}
stop: {updates: 200}
virtual:
  learner: numpy
  step: {lognormal: [20ms, 0.5]}
  boot: 50ms
  tcp: false
  layers: {forward: [2, 1, 1], backward: [3, 2, 2]}
devices:
  - name: slow
    count: 2
    link: {up: {rate: 1mbit, setup: 2ms, delay: 5ms}, down: {rate: 2mbit, setup: 1ms, jitter: 0s}}
  - name: fast
    count: 3
    profile: {cpu: 50%}
    link: {up: {rate: 16mbit}, down: {rate: 16mbit, setup: 1ms, delay: 9ms, jitter: 2ms}}
"""

SCHEDULES = ("sequential", "layer-by-layer", "ibatch", "dynacomm")


class Staged(NamedTuple):
    """A piece of an update that reached the server, and whether it completed the update."""

    piece: UpdateSegment
    now: float
    completes: bool


@contextmanager
def staged_pieces() -> Iterator[list[Staged]]:
    """Keep the pieces that the server stages meanwhile."""
    kept: list[Staged] = []
    add = Staging.add

    def noting(self, piece, now):
        arrival = add(self, piece, now)
        kept.append(Staged(piece, now, arrival is not None))
        return arrival

    with patch.object(Staging, "add", noting):
        yield kept


@contextmanager
def computed_pieces() -> Iterator[list[tuple[str, PrefetchedSegment]]]:
    """Keep the pieces of models on which devices compute meanwhile, with the devices' names."""
    kept: list[tuple[str, PrefetchedSegment]] = []
    compute = VirtualDevice._compute

    def noting(self, work):
        if isinstance(work, Forward):
            kept.append((self.name, work.reply))
        compute(self, work)

    with patch.object(VirtualDevice, "_compute", noting):
        yield kept


def iterations(
    computed: Sequence[tuple[str, PrefetchedSegment]],
) -> Iterator[list[PrefetchedSegment]]:
    """Yield the pieces of each iteration that a device began."""
    begun: dict[str, list[PrefetchedSegment]] = {}
    for node, piece in computed:
        if piece.segment[0] == 1:
            yield from [begun[node]] if node in begun else []
            begun[node] = []
        begun[node].append(piece)
    yield from begun.values()


def losses(records: list[PlainRecord]) -> list[tuple[str, float]]:
    """Device and loss of each update, in the order of the updates."""
    return [(r["node"], r["loss"]) for r in records if r["what"] == "update"]
