"""How long a device waits for an answer."""

from emulator.scenario.timeouts import LEAST_TIMEOUT, answer_timeout, exchange_time
from emulator.units import Rate
from emulator.world.links.link import Link, Side
from tests.fakes.small_scenario import small

CNN = ("dataset: digits\n  model: digits-mlp", "dataset: mnist\n  model: mnist-cnn")
SLOW = Link(up=Side(Rate(1e6)), down=Side(Rate(1e6)))
CUT = "\n  fully_connected: {place: server}"


def test_activations_may_wait_for_those_of_other_devices() -> None:
    whole = small(CNN, ("algorithm: asgd", "algorithm: bsp"))
    cut = small(CNN, ("algorithm: asgd", f"algorithm: bsp{CUT}"))
    assert answer_timeout(whole, Link(), 100) == LEAST_TIMEOUT
    assert answer_timeout(cut, Link(), 100) == LEAST_TIMEOUT + 60
    alone = small(CNN, ("algorithm: asgd", f"algorithm: asgd{CUT}"))
    assert answer_timeout(alone, Link(), 100) == LEAST_TIMEOUT


def test_an_exchange_has_activations_and_their_gradient() -> None:
    whole, cut = small(CNN), small(CNN, ("algorithm: asgd", f"algorithm: asgd{CUT}"))
    more = exchange_time(cut, SLOW, 100) - exchange_time(whole, SLOW, 100)
    assert more == SLOW.up.transfer(125_440 + 40) + SLOW.down.transfer(125_440)
