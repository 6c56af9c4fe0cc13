"""Steps and traces of links in virtual time: transfer times against arithmetic."""

import math
from pathlib import Path

import pytest

from emulator.log.lines import read
from emulator.runtimes.virtual.clock import Heap
from emulator.runtimes.virtual.links.network import LinkPlayer, build_links
from emulator.scenario import Scenario
from emulator.scenario.timeline.link_changes import start_draw
from emulator.world.links.link import FRAME
from tests.fakes.small_scenario import small
from tests.fakes.virtual_world import played

MEGABIT = 1e6 / 8 / FRAME
"""Bytes of a message that a link of 1 mbit carries in a second."""
TRACE = "trace: {samples: '0 8e6 0.1, 2 0 0.1, 3 4e6 0.3, end 4'%s}"


def scenario(side: str, *overrides: str, server: str = "{}") -> Scenario:
    link = f"link: {{up: {{{side}}}}}"
    return small(
        ("{name: pair, count: 2}", f"{{name: pair, count: 2, {link}}}"),
        overrides=(f"server={{link: {server}}}", "virtual.tcp=false", *overrides),
    )


class Played:
    """The links of a scenario from zero on, and the arrivals of messages up the first of `pair`."""

    def __init__(self, made: Scenario) -> None:
        self.heap, self.arrived = Heap(), list[float]()
        groups = build_links(self.heap, made)
        self.links = groups[1]
        LinkPlayer(self.heap, made, groups).begin(0.0)

    def send(self, at: float, megabits: float, number: int = 0) -> None:
        size = round(megabits * MEGABIT)
        self.heap.at(at, self.links.up.send, number, size, self._arrive)

    def _arrive(self) -> None:
        self.arrived.append(self.heap.now)

    def play(self, until: float = 100.0) -> list[float]:
        self.heap.run(until, 10**6)
        return self.arrived


STEPS = "rate: 8mbit, delay: 100ms, steps: [{at: 2s, rate: 2mbit}, {at: 6s, delay: 400ms}]"


@pytest.mark.parametrize("server", ["{}", "{down: {rate: 1gbit}}"])
def test_a_transfer_over_steps(server: str) -> None:
    """8 Mbit in the first second at rest, 8 at 8 mbit, 8 in 4 s at 2 mbit, 4 in 0.5 s at 8 mbit."""
    world = Played(scenario(STEPS, server=server))
    world.send(1.0, 20)
    assert world.play() == [pytest.approx(6.5 + 0.4, abs=1e-5)]


def test_transfers_over_a_trace_that_repeats() -> None:
    """A round carries 16 Mbit in 2 s, hardly any bits in 1 s, and 4 Mbit in 1 s."""
    world = Played(scenario(TRACE % ""))
    world.send(0.0, 18)
    world.send(0.0, 2 + 8)
    world.send(50.0, 20)  # in the middle of the thirteenth round, as an outage begins
    # the outage lets 100 bits through
    assert world.play() == pytest.approx([3.5 + 0.3, 4 + 1 + 0.1, 54 + 0.1], abs=1e-3)


def test_a_trace_that_ends_keeps_its_last_values() -> None:
    world = Played(scenario(TRACE % ", loop: false, scale: 0.5"))
    world.send(0.0, 8 + 20)
    assert world.play() == pytest.approx([3 + 10 + 0.3], abs=1e-3)


def test_a_fault_multiplies_the_rate_of_the_moment() -> None:
    """From 1 s to 5 s half of the rate is left: 8, 4, 4 times 1 and 2 Mbit in a second, then 8."""
    world = Played(scenario(STEPS))
    world.heap.at(1.0, world.links.reshape, 0, {"rate": 0.5})
    world.heap.at(5.0, world.links.reshape, 0, None)
    world.send(0.0, 8 + 4 + 3 + 2 + 4)
    assert world.play() == [pytest.approx(6.5 + 0.4, abs=1e-5)]


def test_another_link_of_a_fault_hides_the_changes() -> None:
    """The trace goes on unseen, and is in force again at its own place."""
    world = Played(scenario(STEPS))
    other = {"link": {"up": {"rate": 1e6, "delay": 0.05}, "down": {}}}
    world.heap.at(1.0, world.links.reshape, 0, other)
    world.heap.at(4.0, world.links.reshape, 0, None)
    world.send(0.0, 8 + 3 + 3)
    world.send(50.0, 8)
    assert world.play() == pytest.approx([5.5 + 0.1, 51 + 0.4], abs=1e-5)


def test_only_devices_with_changes_change() -> None:
    """Both devices of the group play; the one under no fault is twice as fast."""
    world = Played(scenario(STEPS))
    world.heap.at(0.0, world.links.reshape, 0, {"rate": 0.5})
    world.send(0.0, 8, 0)
    world.send(0.0, 8, 1)
    assert world.play() == pytest.approx([1.1, 2.1], abs=1e-5)


def test_each_device_draws_its_start() -> None:
    made = scenario(TRACE % ", start: random, loop: false")
    times = []
    for number, name in enumerate(("pair-0", "pair-1")):
        at = 4 * start_draw(made.seed, name)
        times.append(at)
        world = Played(made)
        world.send(0.0, 40, number)
        # what is left of the trace, and 4 mbit from then on
        passed = 8 * max(0.0, 2 - at)
        begin = max(0.0, 3 - at)
        assert world.play() == pytest.approx([begin + (40 - passed) / 4 + 0.3], abs=1e-3)
    assert abs(times[0] - times[1]) > 0.01


def test_changes_that_change_nothing_cost_nothing() -> None:
    world = Played(scenario("trace: {samples: '0 8e6, 1 8e6, 2 8e6, end 3'}"))
    assert world.heap.run(math.inf, 1)  # the heap is empty


SAMPLES = ", ".join(f"{at} {'1e6' if at % 2 else '3e6'} 0.02" for at in range(0, 60, 2))
RUN = f"""\
name: changing
training: {{dataset: digits, model: digits-softmax, algorithm: asgd}}
stop: {{time: 60s}}
virtual: {{learner: numpy, step: 10ms}}
devices:
  - name: mover
    count: 2
    link: {{up: {{trace: {{samples: "{SAMPLES}, end 60", start: random}}}}, down: {{rate: 2mbit}}}}
    failures: [{{name: rain, faults: [{{kind: degrade, rate: 50%, every: 10s, lasts: 5s}}]}}]
"""


@pytest.mark.slow
def test_a_run_repeats_to_the_byte(tmp_path: Path) -> None:
    first, summary, _ = played(tmp_path / "a", text=RUN)
    second, _, _ = played(tmp_path / "b", text=RUN)
    assert (first / "run.jsonl").read_bytes() == (second / "run.jsonl").read_bytes()
    assert summary["outcome"] == "success"
    assert summary["updates"] > 100
    assert any(record for record in read(first / "run.jsonl"))
