"""Times of passes through a cut model: parts of a step, and one draw for a pass in two halves."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.core.wire.messages import ActivationGradient, Begin, Logits
from emulator.runtimes.virtual.cut_times import PassShares, ServerPasses, cut_shares
from emulator.units import Seconds
from emulator.world.laws import Exponential, Fixed

GRADIENT, LOGITS = ActivationGradient(1, 0.5, b"grad"), Logits(1, b"")


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=2, max_size=8), st.data())
def test_both_parts_take_the_whole_step(layers: list[tuple[int, int]], data: st.DataObject) -> None:
    whole = sum(map(sum, layers))
    forward, backward = zip(
        *[(float(Fraction(f, whole)), b / whole) for f, b in layers], strict=True
    )
    layer = data.draw(st.integers(1, len(layers) - 1))
    shares = cut_shares(forward, backward, layer)
    assert shares.device.forward == pytest.approx(sum(f for f, _ in layers[:layer]) / whole)
    assert shares.server.backward == pytest.approx(sum(b for _, b in layers[layer:]) / whole)
    parts = (shares.device, shares.server)
    assert sum(part.forward + part.backward for part in parts) == pytest.approx(1)


def test_a_device_with_half_a_batch_takes_half_the_time() -> None:
    passes = ServerPasses(Fixed(Seconds(8)), PassShares(0.25, 0.5), {"a": 1, "b": 0.5}, seed=1)
    assert passes.seconds("a", GRADIENT) == 6
    assert passes.seconds("b", GRADIENT) == 3
    assert passes.seconds("b", Begin(0.0)) == 0


def test_the_halves_of_a_pass_are_parts_of_one_draw() -> None:
    def passes() -> ServerPasses:
        law = Exponential(Seconds(1))
        return ServerPasses(law, PassShares(0.25, 0.5), {"a": 1}, seed=7)

    at_once, halves = passes(), passes()
    for _ in range(3):
        logits, gradient = halves.seconds("a", LOGITS), halves.seconds("a", GRADIENT)
        assert gradient == pytest.approx(2 * logits)
        assert logits + gradient == pytest.approx(at_once.seconds("a", GRADIENT))


def test_a_device_that_never_answered_its_logits_draws_anew() -> None:
    passes = ServerPasses(Fixed(Seconds(8)), PassShares(0.25, 0.5), {"a": 1}, seed=1)
    assert [passes.seconds("a", reply) for reply in (LOGITS, LOGITS, GRADIENT)] == [2, 2, 4]
