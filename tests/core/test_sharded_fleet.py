"""Fleets that pull and push at several shards, in random order, with crashes at any moment."""

import numpy as np
import pytest

from emulator.codecs import TopK
from emulator.modulation import PerParameter
from emulator.synchronization import AnySynchronization, Asynchronous, Barrier, Bounded, Softsync
from emulator.units import Fraction
from tests.fakes.core.random_order_fleet import RATE, Fleet
from tests.fakes.core.struck_fleet import StruckFleet

TABLE = [Asynchronous(), Barrier(), Barrier(Fraction(0.5)), Bounded(bound=1), Softsync(splits=2)]
BY_TABLE = pytest.mark.parametrize("policy", TABLE, ids=lambda policy: str(policy.kind))
ALIKE = dict.fromkeys("abcd", 12)


@BY_TABLE
@pytest.mark.parametrize("codec", [None, TopK(Fraction(0.4), scope="variable")])
def test_shards_change_no_bit_of_what_a_device_learns(policy: AnySynchronization, codec) -> None:
    options = {"updates": 60, "codec": codec, "modulation": PerParameter(), "seed": 3}
    models = {}
    for shards in (0, 1, 2, 4):
        fleet = Fleet(policy, {"a": 12}, **options, shards=shards)
        fleet.play()
        models[shards] = fleet.theta.tobytes()
    if codec is not None:  # keeps entries of each of the layers, which one server's layout has not
        del models[0]
    assert len({*models.values()}) == 1


def test_a_barrier_over_shards_makes_the_steps_of_one_server() -> None:
    """Though the parts of a round arrive in another order."""
    models = {}
    for shards in (0, 2, 4):
        fleet = Fleet(Barrier(), ALIKE, updates=200, seed=4, shards=shards)
        fleet.play()
        models[shards] = fleet.theta
    for shards in (2, 4):
        np.testing.assert_allclose(models[shards], models[0], rtol=1e-5)


class Watched(StruckFleet):
    """A fleet, and the invariants that hold at every step."""

    def __init__(self, policy: AnySynchronization, seed: int, updates: int) -> None:
        super().__init__(seed)
        self.models: dict[int, np.ndarray] = {}
        self.exact = policy == Asynchronous()
        self.fleet = Fleet(
            policy, ALIKE, updates=updates, seed=seed, shards=3, observe=self.observe
        )
        self.gradients: dict[str, np.ndarray] = {}
        descended = self.fleet._descended

        def noted(node, theta):
            version = {bytes(model): n for n, model in self.models.items()}.get(theta.tobytes())
            assert version is not None, "a model that the server never had"
            gradient, loss = descended(node, theta)
            self.gradients[node] = gradient
            return gradient, loss

        self.fleet._descended = noted

    def observe(self, event, node):
        server = self.fleet.server
        before = self.models.get(server.version - 1)
        completes = event == "part" and server.version not in self.models
        if completes and self.exact and before is not None:
            moved = before - np.float32(RATE) * self.gradients[node]
            assert server.parameters.theta.tobytes() == moved.tobytes()
        self.models[server.version] = server.parameters.snapshot()

    def amid(self, node: str) -> dict[str, bool]:
        device = self.fleet.devices[node]
        parts = self.fleet.server._exchanges._staging._parts.get(node)
        return {"push": bool(parts), "pull": device.listens and bool(device.inbox)}


@BY_TABLE
@pytest.mark.parametrize(
    ("seed", "updates"),
    [(0, 200), pytest.param(1, 1500, marks=pytest.mark.slow)],
)
def test_no_half_update_and_no_mixed_model_whenever_a_device_dies(
    policy: AnySynchronization, seed: int, updates: int
) -> None:
    watched = Watched(policy, seed, updates)
    watched.play()
    ended = watched.fleet.server.ended
    assert ended is not None
    assert ended.reason == "updates"
    assert min(watched.struck["push"], watched.struck["pull"]) > updates / 60
    assert not watched.fleet.server._exchanges._staging._parts
