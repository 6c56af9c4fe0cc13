"""Iterations in segments take exactly the times that the schedules' model foretells."""

from random import Random

import pytest

from emulator.layout import Layout
from emulator.runtimes.virtual.device.passes import LayerTimes
from emulator.runtimes.virtual.learning.gradient_handle import PrefetchedSegment
from emulator.runtimes.virtual.links.transmission import BITS, LinkConstants
from emulator.schedules import DynaComm, IBatch, LayerByLayer, LayerCosts, Sequential, cut, timing
from emulator.schedules.base import Cuts, Schedule
from emulator.world.cpu_quota import Quota
from tests.fakes.virtual.segmented_device import Iteration, layers

EXACT = 1e-9
STRATEGIES: list[Schedule] = [Sequential(), LayerByLayer(), IBatch(), DynaComm()]


class Drawn:
    """A random net on random links: sizes, rates, set-up times, delays and shares."""

    def __init__(self, dice: Random) -> None:
        count = dice.randint(1, 20)
        self.layout = layers(*(round(10 ** dice.uniform(0, 6)) for _ in range(count)))
        self.up, self.down = self._link(dice), self._link(dice)
        self.step = 10 ** dice.uniform(-3, 1)
        parts = [dice.choice([0.0, dice.random(), dice.paretovariate(1)]) for _ in range(2 * count)]
        whole = sum(parts) or 1.0
        self.times = LayerTimes(
            tuple(part / whole for part in parts[:count]),
            tuple(part / whole for part in parts[count:]),
        )

    def _link(self, dice: Random) -> LinkConstants:
        rate = 10 ** dice.uniform(5, 10)
        setup = dice.choice([0.0, dice.uniform(0, 0.1)])
        return LinkConstants(rate, delay=dice.uniform(0, 0.2), setup=setup)

    def costs(self) -> LayerCosts:
        """The times of an iteration, without the bytes of heads."""
        return LayerCosts(
            pull=_transfers(self.layout, self.down.rate),
            forward=tuple(part * self.step for part in self.times.forward),
            backward=tuple(part * self.step for part in self.times.backward),
            push=_transfers(self.layout, self.up.rate),
            pull_setup=self.down.setup,
            push_setup=self.up.setup,
        )

    def iteration(self, cuts: Cuts) -> Iteration:
        return Iteration(self.layout, cuts, self.up, self.down, self.step, self.times)


def _transfers(layout: Layout, rate: float) -> tuple[float, ...]:
    return tuple(4 * (place.stop - place.start) * BITS / rate for place in layout.layers)


@pytest.mark.slow
@pytest.mark.parametrize("schedule", STRATEGIES, ids=lambda schedule: schedule.kind)
def test_an_iteration_takes_exactly_the_times_of_its_plan(schedule: Schedule) -> None:
    for number in range(200):
        drawn = Drawn(Random(f"net {number}"))
        costs = drawn.costs()
        cuts = cut(schedule, costs)
        iteration = drawn.iteration(cuts)
        iteration.play()
        pull = timing.pull(cuts.pull, drawn.down.setup, iteration.pulled(), costs.forward)
        push = timing.push(cuts.push, drawn.up.setup, iteration.pushed(), costs.backward)
        assert iteration.forward == pytest.approx(pull.seconds, abs=EXACT, rel=1e-12), number
        assert iteration.backward == pytest.approx(push.seconds, abs=EXACT, rel=1e-12), number
        assert [piece.segment for piece, _ in iteration.server.pieces] == [*cuts.push]


@pytest.mark.slow
def test_every_transfer_and_every_pass_is_where_the_plan_has_it() -> None:
    for number in range(50):
        drawn = Drawn(Random(f"net {number}"))
        costs = drawn.costs()
        cuts = cut(LayerByLayer(), costs)
        iteration = drawn.iteration(cuts)
        iteration.play()
        observed = iteration.observed
        began = iteration.server.answered + drawn.down.delay
        pull = timing.pull(cuts.pull, drawn.down.setup, iteration.pulled(), costs.forward)
        arrived = [now - began for _, _, now in observed.kept("arrived")]
        assert arrived == pytest.approx([end for _, end in pull.transfers], abs=EXACT)
        forward = [(b - began, e - began) for _, _, b, e in observed.kept("forward")]
        assert forward == [pytest.approx(span, abs=EXACT) for span in pull.computes]
        turned = observed.kept("backward")[0][2]
        push = timing.push(cuts.push, drawn.up.setup, iteration.pushed(), costs.backward)
        backward = [(b - turned, e - turned) for _, _, b, e in observed.kept("backward")]
        assert backward == [pytest.approx(span, abs=EXACT) for span in push.computes[::-1]]
        left = [now - drawn.up.delay - turned for _, now in iteration.server.pieces]
        assert left == pytest.approx([end for _, end in push.transfers], abs=EXACT)


WHOLE = Cuts(((1, 2), (3, 3)), ((3, 3), (1, 2)))
TIMES = LayerTimes((0.1, 0.1, 0.2), (0.2, 0.3, 0.1))
FAST = LinkConstants(1e9)


def device(step: float = 1.0, serve: float = 0.0) -> Iteration:
    return Iteration(layers(10, 20, 30), WHOLE, FAST, FAST, step, TIMES, serve)


def test_the_scheduler_is_told_the_seconds_of_each_layer() -> None:
    iteration = device()
    iteration.play()
    observed = iteration.observed
    seconds = [part for _, part, _, _ in observed.kept("forward")]
    assert seconds == [pytest.approx([0.1, 0.1]), pytest.approx([0.2])]
    seconds = [part for _, part, _, _ in observed.kept("backward")]
    assert seconds == [pytest.approx([0.1]), pytest.approx([0.2, 0.3])]
    assert [segment for segment, _, _ in observed.kept("handed")] == [(3, 3), (1, 2)]
    computed = [piece.compute for piece, _ in iteration.server.pieces]
    assert computed == [pytest.approx(0.5), pytest.approx(1.0)]


def test_one_iteration_draws_a_fault_and_a_gradient_once() -> None:
    iteration = device()
    iteration.play()
    assert (iteration.drawn, iteration.learner.prefetched) == (1, 1)
    assert iteration.learner.began == [(3, 3), (1, 2)]


def test_the_answer_is_dated_after_the_work_of_the_server() -> None:
    """The first phase counts from then: the device does not plan around the server's queue."""
    times = device(serve=0.25)
    times.play()
    told = times.observed.kept("told")[0][0]
    assert times.server.answered < 0.001
    assert told.answered == 0.25
    calm = device()
    calm.play()
    assert times.forward == pytest.approx(calm.forward, abs=EXACT)


@pytest.mark.parametrize(("ticket", "held"), [(0, 7), (1, None)])
def test_the_answer_to_an_earlier_pull_is_not_held(ticket: int, held: int | None) -> None:
    """As in a container; the next pull must not name a version that the device has dropped."""
    iteration = device()
    iteration.begin()
    for segment in WHOLE.pull:
        piece = PrefetchedSegment(ticket, 7, segment, 30, None, iteration.learner)
        iteration.device.hear(0, piece, 100)
    assert iteration.device.held == held


def test_a_quota_slows_each_layer_down_in_slices_of_a_tenth_of_a_second() -> None:
    iteration = device(step=0.1)
    iteration.device.quota = Quota(0.2)
    iteration.play()
    # 10 and 10 ms of a whole core use the first budget up: the next pass begins in the next slice
    spans = [(began, ended) for _, _, began, ended in iteration.observed.kept("forward")]
    assert spans[0][1] - spans[0][0] == pytest.approx(0.02)
    assert spans[1][1] == pytest.approx(0.12)
    seconds = [part for _, part, _, _ in iteration.observed.kept("backward")]
    assert seconds[0] == pytest.approx([0.09])


def test_a_pause_prolongs_the_pass_that_it_interrupts() -> None:
    iteration = device()
    iteration.begin()
    iteration.clock.at(0.15, iteration.device.pause)
    iteration.clock.at(1.15, iteration.device.resume)
    iteration.clock.run(1e9, 10**6)
    spans = [ended - began for _, _, began, ended in iteration.observed.kept("forward")]
    assert spans == [pytest.approx(1.2), pytest.approx(0.2)]
    assert iteration.server.pieces[-1][0].compute == pytest.approx(2.0)


@pytest.mark.parametrize("at", [0.05, 0.25, 0.45, 0.7])
def test_a_death_ends_the_passes_and_the_pieces(at: float) -> None:
    iteration = device()
    iteration.begin()
    iteration.clock.at(at, iteration.device.die)
    iteration.clock.run(1e9, 10**6)
    assert iteration.device.passes is None
    assert len(iteration.server.pieces) == (at > 0.5)
    ends = [span[4] for span in iteration.observed.spans if span[0] in ("forward", "backward")]
    assert all(end <= at for end in ends)
