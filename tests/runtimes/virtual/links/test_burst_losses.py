"""TCP's silences behind bursts of losses: laws over all loss models, and the limits of their
shares."""

import math
from itertools import pairwise
from random import Random
from statistics import fmean

import pytest

from emulator.runtimes.virtual.clock import Heap
from emulator.runtimes.virtual.links.burst_losses import BurstLosses, _Walk
from emulator.runtimes.virtual.links.link_group import LinkGroup
from emulator.runtimes.virtual.links.network import link_constants
from emulator.scenario.sections.run_sections import Congestion
from emulator.units import Fraction, Rate, Seconds
from emulator.world.links.link import Link, Side
from emulator.world.links.loss_models import FourStates, Gemodel, LossModel

SIZE, MESSAGES, LONGEST = 20_000, 20, 3600.0
CONTROLS: tuple[Congestion, ...] = ("cubic", "reno", "bbr")


def gemodel(p: float, r: float, **shares: float) -> LossModel:
    named = {key: Fraction(share) for key, share in shares.items()}
    return LossModel(Gemodel(Fraction(p), Fraction(r), **named))


def bursts(loss: float, length: float) -> LossModel:
    """A model that loses a share `loss` of all packets in bursts of `length` packets."""
    return gemodel(loss / (1 - loss) / length, 1 / length)


MODELS = {
    "single losses": LossModel(Gemodel(Fraction(0.05))),
    "short bursts": gemodel(0.01, 0.25),
    "long bursts": gemodel(0.01, 0.01),
    "half of each burst": gemodel(0.02, 0.1, bad=0.5),
    "losses outside too": gemodel(0.01, 0.1, good=0.01),
    "four states": LossModel(state=FourStates(*map(Fraction, (0.02, 0.3, 0.2, 0.4, 0.01)))),
}


RARE = {"rare bursts": gemodel(1e-4, 0.25), "no losses": gemodel(0.0, 1.0)}


def took(model: LossModel | None, seed: int, control: Congestion = "cubic") -> float:
    """Return the seconds of `MESSAGES` messages over a link of 10 mbit, up to `LONGEST`."""
    side = Side(Rate(1e7), Seconds(0.02), loss_model=model)
    link = Link(up=side, down=Side(Rate(1e7)))
    heap, arrived = Heap(), list[float]()
    constants = link_constants(link, Link(), "up", tcp=True, control=control)
    group = LinkGroup(heap, constants, 1, lambda _: Random(seed))
    for number in range(MESSAGES):
        heap.at(0.1 * number, group.send, 0, SIZE, lambda: arrived.append(heap.now))
    heap.run(LONGEST, 1_000_000)
    return arrived[-1] if len(arrived) == MESSAGES else LONGEST


def mean(model: LossModel | None, control: Congestion = "cubic", runs: int = 40) -> float:
    return fmean(took(model, seed, control) for seed in range(runs))


@pytest.mark.mostly_slow
@pytest.mark.parametrize("name", MODELS)
def test_a_walk_has_the_losses_and_bursts_of_its_chain(name: str) -> None:
    chain = MODELS[name].chain
    lost = _Walk(chain, Random(name)).lost(400_000)
    runs = sum(now and not before for before, now in pairwise(lost))
    assert sum(lost) / len(lost) == pytest.approx(chain.mean, rel=0.1)
    assert sum(lost) / runs == pytest.approx(chain.burst, rel=0.1)


@pytest.mark.mostly_slow(quick=4)
@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("name", MODELS)
def test_no_model_of_losses_is_free(name: str, control: Congestion) -> None:
    assert mean(MODELS[name], control) > took(None, 0, control)
    assert took(MODELS[name], 3, control) == took(MODELS[name], 3, control)


@pytest.mark.mostly_slow
@pytest.mark.parametrize("length", [2, 8, 32, 128])
def test_more_loss_takes_longer(length: float) -> None:
    times = [mean(bursts(loss, length)) for loss in (0.02, 0.1, 0.3, 0.6)]
    assert times == sorted(times)


@pytest.mark.parametrize("loss", [0.1, 0.3, 0.5])
def test_bursts_beyond_the_window_cost_time_outs(loss: float) -> None:
    """Bursts of 4 leave most windows a packet; of bursts of 64 the silence takes minutes."""
    short, long = mean(bursts(loss, 4)), mean(bursts(loss, 64))
    assert long > short and long > 1000
    assert loss == 0.5 or long > 5 * short


@pytest.mark.slow
def test_the_limits_of_the_shares() -> None:
    free = took(None, 0)
    assert took(gemodel(0.0, 1.0), 0) == free
    assert took(gemodel(1e-9, 0.5), 0) == pytest.approx(free, rel=0.01)
    for model in (gemodel(1.0, 0.0), gemodel(1.0, 1e-6), gemodel(0.5, 0.5, good=1.0)):
        assert took(model, 0) == LONGEST


def test_each_packet_of_a_burst_beyond_the_window_costs_a_time_out() -> None:
    """Ten packets of the window, the probe, then time-outs of 0.3, 0.6 and 1.2 s."""
    chain = gemodel(1.0, 0.5).chain
    losses = BurstLosses([chain], Random(0))
    losses._walks[0]._state, losses._walks[0]._left = 1, 10 + 1 + 2
    assert losses.silence(10, 0, rtt=0.1, pace=0.0) >= 0.3 + 0.6 + 1.2


@pytest.mark.parametrize("name", MODELS | RARE)
def test_a_link_without_a_rate_carries_many_messages(name: str) -> None:
    link = Link(up=Side(delay=Seconds(0.02), loss_model=(MODELS | RARE)[name]))
    heap, arrived = Heap(), list[float]()
    group = LinkGroup(heap, link_constants(link, Link(), "up", tcp=True), 1, lambda _: Random(0))
    for number in range(3000):
        heap.at(0.1 * number, group.send, 0, SIZE, lambda: arrived.append(heap.now))
    heap.run(math.inf, 1_000_000)
    assert len(arrived) == 3000 and arrived[-1] < math.inf


def test_a_silence_outlasts_a_change_of_the_link_and_a_new_connection() -> None:
    link = Link(up=Side(Rate(1e7), Seconds(0.02), loss_model=gemodel(1.0, 0.02)))
    quick = Link(up=Side(Rate(2e7), Seconds(0.02), loss_model=gemodel(1.0, 0.02)))

    def arrival(change: str) -> float:
        heap, arrived = Heap(), list[float]()
        constants = link_constants(link, Link(), "up", tcp=True)
        group = LinkGroup(heap, constants, 1, lambda _: Random(5), changing=True)
        group.send(0, SIZE, lambda: arrived.append(heap.now))
        if change == "reshape":
            changed = link_constants(quick, Link(), "up", tcp=True)
            heap.at(1.0, group.reshape, 0, changed)
        elif change == "renew":
            heap.at(1.0, group.renew, 0)
        elif change == "cut":
            heap.at(1.0, group.cut, 0)
            heap.at(1.5, group.mend, 0)
        heap.run(math.inf, 1000)
        return arrived[0]

    silent = arrival("")
    assert silent > 20
    for change in ("reshape", "renew", "cut"):
        assert arrival(change) > 0.9 * silent - 1
