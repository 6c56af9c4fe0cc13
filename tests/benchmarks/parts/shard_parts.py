"""The core's time for a pull and a push of a whole model, and of a shard's part of it.

`python -m tests.benchmarks.parts.shard_parts` prints a line for each codec and layout. Sockets and
their threads are not in it.
"""

import argparse
import io
import time

import numpy as np

from emulator import chance
from emulator.codecs import AnyCodec, Dense, EncoderContext, TopK
from emulator.core import wire
from emulator.core.server.parameters import Parameters
from emulator.core.sharding.server_shards import balanced_shards
from emulator.core.wire.messages import Hello, ModelReply, Pull, Update
from emulator.layout import Layout
from emulator.learning.models import MODELS
from emulator.log.lines import RunLog
from emulator.modulation import PerParameter
from emulator.synchronization import Asynchronous
from emulator.units import Fraction
from emulator.world.stop_conditions import Stop
from tests.fakes.core.made_server import made_server

MODEL, SHARDS, ROUNDS, EXCHANGES = "mnist-resnet", 4, 5, 200


def seconds(codec: AnyCodec, layout: Layout) -> float:
    """Return the seconds of a core for an exchange, the best of several rounds."""
    server = made_server(
        Parameters(np.zeros(layout.size, np.float32), 0.1, PerParameter().start(layout)),
        layout=layout,
        codec=codec,
        synchronizer=Asynchronous().start(frozenset("a"), 0, {"a": 1}),
        workers=["a"],
        evaluator=None,
        stop=Stop(),
        log=RunLog(io.BytesIO()),
        now=0.0,
    )
    gradient = np.random.default_rng(0).standard_normal(layout.size).astype(np.float32)
    frames = codec.start(EncoderContext(layout, chance.stream("shards"))).encode(gradient)
    server.receive(Hello("a", 0), 0.0)
    best = float("inf")
    for first in range(0, ROUNDS * EXCHANGES, EXCHANGES):
        began = time.process_time()
        for ticket in range(first, first + EXCHANGES):
            ((_, reply),) = server.receive(Pull("a", ticket), 1.0)
            assert isinstance(reply, ModelReply)
            wire.pack(reply)
            pushed = wire.pack(Update("a", reply.version, 0.1, 0.1, frames))
            server.receive(wire.unpack([bytes(frame) for frame in pushed]), 1.0)
        best = min(best, (time.process_time() - began) / EXCHANGES)
    return best


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    whole = MODELS[MODEL].layout
    largest = max(balanced_shards(whole, SHARDS).segments, key=lambda s: whole.part(s).size)
    for codec in (Dense(), TopK(Fraction(0.01))):
        for layout in (whole, whole.part(largest)):
            print(f"{codec.kind}, {layout.size:,}: {1e3 * seconds(codec, layout):.3f} ms")


if __name__ == "__main__":
    main()
