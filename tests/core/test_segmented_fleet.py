"""Fleets that pull and push in segments, in random order, with crashes and cuts at any moment."""

from random import Random

import numpy as np
import pytest

from emulator.codecs import TopK
from emulator.modulation import PerParameter
from emulator.schedules import Cuts
from emulator.synchronization import AnySynchronization, Asynchronous, Barrier, Bounded, Softsync
from emulator.units import Fraction
from tests.fakes.codecs.segments import cut
from tests.fakes.core.random_order_fleet import LAYERS, RATE, Fleet
from tests.fakes.core.struck_fleet import StruckFleet

TABLE = [Asynchronous(), Barrier(), Barrier(Fraction(0.5)), Bounded(bound=1), Softsync(splits=2)]
BY_TABLE = pytest.mark.parametrize("policy", TABLE, ids=lambda policy: str(policy.kind))
ALIKE = dict.fromkeys("abcd", 12)
L = len(LAYERS.layers)


def drawn(seed):
    """Return a source of random cuts."""
    dice = Random(f"cuts/{seed}")

    def draw():
        pull, push = (cut(LAYERS, [n for n in range(1, L) if dice.random() < 0.6]) for _ in "ab")
        return Cuts(tuple(pull[::-1]), tuple(push))

    return draw


@pytest.mark.mostly_slow(quick=3)
@BY_TABLE
@pytest.mark.parametrize("codec", [None, TopK(Fraction(0.4))], ids=["dense", "topk"])
def test_cuts_change_no_bit_of_what_a_device_learns(policy: AnySynchronization, codec):
    options = {"updates": 60, "codec": codec, "modulation": PerParameter(), "seed": 3}
    whole, pieces = Fleet(policy, {"a": 12}, **options), None
    whole.play()
    options["codec"] = codec and TopK(Fraction(0.4), scope="variable")
    one = Fleet(policy, {"a": 12}, **options, cuts=lambda: Cuts(((1, L),), ((1, L),)))
    one.play()
    pieces = Fleet(policy, {"a": 12}, **options, cuts=drawn(3))
    pieces.play()
    assert pieces.theta.tobytes() == one.theta.tobytes()
    if codec is None:
        assert pieces.theta.tobytes() == whole.theta.tobytes()


class Watched(StruckFleet):
    """A fleet, and the invariants that hold at every step."""

    def __init__(self, policy, seed, updates):
        super().__init__(seed)
        self.models = {}
        self.exact = policy == Asynchronous()
        self.fleet = Fleet(
            policy, ALIKE, updates=updates, seed=seed, cuts=drawn(seed), observe=self.observe
        )

    def observe(self, event, node):
        server = self.fleet.server
        if event == "pull":
            self.models[server.version] = server.parameters.snapshot()
        elif event == "pieces":
            self.check_pieces(self.fleet.devices[node])
        elif event == "update" and self.exact and server.version - 1 in self.models:
            gradient, _ = self.fleet.devices[node].gradient
            moved = self.models[server.version - 1] - np.float32(RATE) * gradient
            assert server.parameters.theta.tobytes() == moved.tobytes()
        if event == "update":
            self.models[server.version] = server.parameters.snapshot()

    def check_pieces(self, device):
        """The pieces on which a gradient is computed are a model that the server had."""
        layers = [n for p in device.pieces for n in range(p.segment[0], p.segment[1] + 1)]
        assert layers == [*range(1, L + 1)]
        ((_, version),) = {(piece.ticket, piece.version) for piece in device.pieces}
        theta = np.concatenate([piece.theta for piece in device.pieces])
        assert theta.tobytes() == self.models[version].tobytes()

    def amid(self, node):
        exchange = self.fleet.server._exchanges._staging._exchanges.get(node)
        device = self.fleet.devices[node]
        return {
            "push": bool(exchange and exchange.pieces),
            "pull": bool(device.pieces and device.listens and device.inbox),
        }


@pytest.mark.slow
@BY_TABLE
@pytest.mark.parametrize(
    ("seed", "updates"),
    [(0, 400), *(pytest.param(n, 2500, marks=pytest.mark.slow) for n in (1, 2))],
)
def test_no_half_update_and_no_mixed_model_whenever_a_device_dies(policy, seed, updates):
    watched = Watched(policy, seed, updates)
    watched.play()
    assert watched.fleet.server.ended.reason == "updates"
    assert min(watched.struck["push"], watched.struck["pull"]) > updates / 60
    staging = watched.fleet.server._exchanges._staging
    assert not staging._exchanges
