"""Faults that a worker's process plays by itself, before and after its passes."""

import pytest

from emulator.core.wire.messages import ModelReply, ModelSegment
from emulator.core.worker.worker import Backward, Compute, Forward
from emulator.node.part.worker_parts import PartFaults
from emulator.transport.work import Work
from emulator.world.faults.self_played import SelfPlayed

HOT = {"slowdown": 3.0, "heats": 1.0, "cools": 2.0}


class Clock:
    """A clock that only sleep and work move on."""

    dilation = 1

    def __init__(self) -> None:
        self.time = 5.0

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds


class Orders:
    """Stands for the orders of the supervisor."""

    def __init__(self, **settings) -> None:
        self.given = settings

    def settings(self):
        return self.given


class Learner:
    """Takes 100 ms for a gradient, and 50 ms for each layer's pass."""

    loss = 0.5

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def gradient(self, theta):
        self.clock.sleep(0.1)
        return theta, 0.5

    def begin(self) -> None:
        pass

    def forward(self, segment, theta):
        self.clock.sleep(0.05)
        return [0.05]

    def backward(self, segment):
        self.clock.sleep(0.05)
        return None, [0.05]


class Observer:
    """Keeps the passes that a scheduler is told."""

    def __init__(self) -> None:
        self.passes = []

    def forward(self, segment, seconds, began, ended) -> None:
        self.passes.append((seconds, ended - began))

    backward = forward


def work(orders: Orders, scheduler=None) -> Work:
    clock = Clock()
    faults = PartFaults(orders, SelfPlayed(1, "a", 0), lambda: None, clock)
    return Work(Learner(clock), clock, scheduler=scheduler, faults=faults)


def gradients(done: Work, count: int) -> list[float]:
    return [round(done.do(Compute(ModelReply(1, 1, None))).seconds, 6) for _ in range(count)]


def test_a_worker_that_overheats_rests_after_each_gradient() -> None:
    orders = Orders(heat=HOT)
    done = work(orders)
    assert gradients(done, 4) == [0.1, 0.12, 0.144, 0.1728]
    assert gradients(done, 9)[-1] == 0.3
    orders.given = {}
    assert gradients(done, 2) == [0.1, 0.1]
    orders.given = {"heat": HOT}
    assert gradients(done, 2) == [0.1, 0.12]


def test_a_pause_in_a_gradient_is_no_computing() -> None:
    orders = Orders(heat=HOT, paused={"seconds": 7.0})
    clock = Clock()
    learner = Learner(clock)

    def gradient(theta):
        clock.sleep(4.0)
        orders.given = {"heat": HOT, "paused": {"seconds": 10.9}}
        return theta, 0.5

    learner.gradient = gradient
    faults = PartFaults(orders, SelfPlayed(1, "a", 0), lambda: None, clock)
    done = Work(learner, clock, faults=faults)
    assert gradients(done, 1) == [4.0]
    learner.gradient = Learner(clock).gradient
    # 3.9 of 4 s were a pause, so the heat is 0.1
    assert gradients(done, 1) == [0.12]


def test_a_scheduler_is_told_the_longer_times_of_layers() -> None:
    seen = Observer()
    done = work(Orders(heat=HOT), seen)
    done.do(Forward(ModelSegment(1, 1, (1, 1), None, None)))
    computed = done.do(Backward((1, 1)))
    assert computed.seconds == pytest.approx(0.05 + 0.055)
    assert seen.passes[0] == ([0.05], pytest.approx(0.05))
    assert seen.passes[1] == ([pytest.approx(0.055)], pytest.approx(0.055))


def test_a_wait_of_a_lag_is_no_computing() -> None:
    done = work(Orders(lag={"delay": {"fixed": 1.0}}, heat=HOT))
    assert gradients(done, 3) == [0.1, 0.1, 0.1]
    assert done._clock.now() == pytest.approx(5 + 3 * 1.1)
