"""A parameter server by hand: messages in, messages out, `now` as we please."""

import io
import json

import numpy as np

from emulator.codecs import Dense, StatelessEncoder
from emulator.core.server.parameters import Parameters
from emulator.core.wire.messages import Hello, Pull, Score, Update, UpdateSegment
from emulator.layout import Layout, Variable
from emulator.log.lines import RunLog
from emulator.modulation import Constant
from emulator.synchronization import Asynchronous
from emulator.world.stop_conditions import Stop
from tests.fakes.core.made_server import made_server

LAYOUT = Layout((Variable("w", (40,), "dense", 0),))
WORKERS = ("a", "b", "c")


class World:
    """A server, its log, and ways to talk to it in a word."""

    def __init__(self, **options):
        self.sink = io.BytesIO()
        self.codec = options.pop("codec", Dense())
        self.layout = options.pop("layout", LAYOUT)
        synchronization = options.pop("synchronization", Asynchronous())
        modulator = options.pop("modulation", Constant()).start(self.layout)
        options.setdefault("stop", Stop(updates=1000))
        options.setdefault("evaluator", "evaluator")
        options.setdefault("every", 200)
        self.server = made_server(
            Parameters(np.zeros(self.layout.size, np.float32), 0.5, modulator),
            layout=self.layout,
            codec=self.codec,
            synchronizer=synchronization.start(frozenset(WORKERS)),
            workers=WORKERS,
            log=RunLog(self.sink),
            now=100.0,
            **options,
        )
        self.ticket = 0

    def begin(self, now=105.0):
        members = [*WORKERS, *(["evaluator"] if self.server._snapshots.evaluator else [])]
        for name in members:
            replies = self.server.receive(Hello(name, 0), now)
        return replies

    def pull(self, node, now=110.0, after=0, held=None, segments=()):
        self.ticket += 1
        return self.server.receive(Pull(node, self.ticket, after, held, segments), now)

    def piece(self, node, version, segment, gradient, ticket=None, now=110.0):
        """Push the layers of `segment` of the whole `gradient`, without a memory."""
        part = self.layout.part(segment)
        encoded = StatelessEncoder(self.codec, part).encode(gradient[self.layout.place(segment)])
        ticket = self.ticket if ticket is None else ticket
        piece = UpdateSegment(node, version, ticket, segment, 0.5, 0.01, encoded)
        return self.server.receive(piece, now)

    def push(self, node, version, now=110.0, value=1.0):
        gradient = np.full(40, value, np.float32)
        frames = StatelessEncoder(self.codec, LAYOUT).encode(gradient)
        return self.server.receive(Update(node, version, 0.5, 0.01, frames), now)

    def ramp(self, node, version, shift=0):
        """Push a gradient of which a sparse codec takes four neighbours."""
        gradient = np.roll(np.arange(40, dtype=np.float32) / 3, 7 * shift)
        frames = StatelessEncoder(self.codec, LAYOUT).encode(gradient)
        return self.server.receive(Update(node, version, 0.5, 0.01, frames), 110.0)

    def score(self, version, now, accuracy=0.5):
        return self.server.receive(Score("evaluator", version, accuracy, 1.0), now)

    def round(self, node, now=110.0):
        (reply,) = self.pull(node, now)
        return self.push(node, reply[1].version, now)

    @property
    def records(self):
        return [json.loads(line) for line in self.sink.getvalue().splitlines()]

    def said(self, what):
        return [record for record in self.records if record["what"] == what]
