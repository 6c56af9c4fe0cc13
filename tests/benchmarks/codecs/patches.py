"""What it costs a server to apply an update and to answer a device that is some versions behind."""

import io
import time

import numpy as np

from emulator.codecs import EncoderContext, TopK
from emulator.core.server.parameters import Parameters
from emulator.core.wire.messages import Hello, Pull, Update
from emulator.layout import Layout
from emulator.log.lines import RunLog
from emulator.modulation import PerParameter
from emulator.pulls import Delta
from emulator.pulls.floats import Values
from emulator.synchronization import Asynchronous
from emulator.units import Fraction
from emulator.world.stop_conditions import Stop
from tests.fakes.core.made_server import made_server

BEHIND = 7
_UPDATES = 10
_WARM = 3 * (BEHIND + 1)


class Turns:
    """A server and devices that take turns, so that a device is as far behind as there are other
    devices."""

    def __init__(self, layout: Layout, keep: float, values: Values) -> None:
        draws = np.random.default_rng(0)
        codec = TopK(Fraction(keep))
        encoder = codec.start(EncoderContext(layout, draws))
        self._updates = [
            tuple(map(bytes, encoder.encode(draws.standard_normal(layout.size, np.float32))))
            for _ in range(_UPDATES)
        ]
        self._devices = [f"home-{number}" for number in range(BEHIND + 1)]
        self._server = made_server(
            Parameters(np.zeros(layout.size, np.float32), 0.1, PerParameter().start(layout)),
            layout=layout,
            codec=codec,
            synchronizer=Asynchronous().start(frozenset(self._devices)),
            workers=self._devices,
            evaluator=None,
            stop=Stop(updates=1_000_000),
            log=RunLog(io.BytesIO()),
            now=0.0,
            pulls=Delta(values).start(layout),
        )
        self._held: dict[str, int] = {}
        self._turn = 0
        for device in self._devices:
            self._server.receive(Hello(device, 0), 0.0)
        for device in self._devices:
            self._pull(device)

    def take(self) -> None:
        """The next device pushes what it has of its model, and pulls again."""
        device = self._devices[self._turn % len(self._devices)]
        frames = self._updates[self._turn % _UPDATES]
        self._turn += 1
        self._server.receive(Update(device, self._held[device], 0.1, 0.1, frames), 1.0)
        self._pull(device)

    def _pull(self, device: str) -> None:
        self._server.receive(Pull(device, 0, 0, self._held.get(device)), 1.0)
        self._held[device] = self._server.version


def measure(layout: Layout, keep: float, repeats: int) -> dict[str, float]:
    """Milliseconds of a push and the pull after it, by kind of values: the best of so many."""
    kinds: tuple[Values, ...] = ("f32", "f16")
    turns = {kind: Turns(layout, keep, kind) for kind in kinds}
    took: dict[str, list[float]] = {kind: [] for kind in kinds}
    for number in range(_WARM + repeats):
        for kind, item in turns.items():
            began = time.perf_counter()
            item.take()
            if number >= _WARM:
                took[kind].append(time.perf_counter() - began)
    return {kind: 1e3 * min(times) for kind, times in took.items()}
