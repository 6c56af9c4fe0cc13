"""The demand of a scenario on the host, and the overview of the emulated world."""

import json
import math

import pytest

from emulator.scenario import Demand, demand, load, overview
from emulator.scenario.cores_and_memory import FORKED, SERVER_LEARNER, SHARED, WORKER
from emulator.scenario.timeline.compiled import outages
from emulator.units import Fraction, Rate, Seconds
from emulator.world.links.link import Side
from tests.fakes.small_scenario import FLAKY, small


def test_demand_adds_up_what_the_devices_want() -> None:
    wanted = demand(load(FLAKY))
    assert (wanted.cores, wanted.unlimited, wanted.ports) == (2.0, 0, 10)
    assert wanted.limits == 4 * (512 << 20) + 4 * (384 << 20)
    assert wanted.largest == 512 << 20
    more = demand(load(FLAKY, ["devices[0].count=5"]))
    # what a worker takes, not what it may take; and what the server remembers for one more
    assert more.memory - wanted.memory == FORKED + more.server - wanted.server
    assert demand(small()).unlimited == 3


def test_a_worker_that_is_executed_or_may_boot_again_takes_more() -> None:
    def memory(count: int, limit: str = "256MiB", faults: str = "[]") -> int:
        text = f"devices[0]={{name: home, count: {count}, profile: {{memory: {limit}}}}}"
        found = demand(load(FLAKY, [text, f"faults={faults}"]))
        return found.memory - found.server

    assert memory(6) - memory(5) == FORKED
    assert memory(6, "128MiB") - memory(5, "128MiB") == WORKER
    crash, degrade = (
        "[{kind: crash, nodes: [home-0, home-1], at: 1s, lasts: 1s}]",
        "[{kind: partition, nodes: [home-0], at: 1s, lasts: 1s}]",
    )
    assert memory(6, faults=crash) - memory(6) == 2 * (WORKER - FORKED)
    assert memory(6, faults=degrade) == memory(6)


@pytest.mark.parametrize(
    ("every", "versions"), [(4, [0, 4, 8, 10]), (5, [0, 5, 10]), (99, [0, 10])]
)
def test_versions_for_a_later_measurement_take_room_on_the_disk(
    every: int, versions: list[int]
) -> None:
    """At most 10 updates are made."""
    overrides = (f"evaluate.every={every}", "evaluate.when=after")
    size = 4 * small().training.layout.size
    assert demand(small(overrides=overrides)).kept == len(versions) * size
    assert demand(small(overrides=overrides[:1])).kept == 0


def test_the_server_takes_more_where_it_remembers_what_was_touched() -> None:
    """AdaComp's history: a segment of 2 bytes a parameter, and a log, for each device and some."""

    def server(*overrides: str) -> int:
        return demand(load(FLAKY, overrides)).server >> 20

    assert server("training.algorithm=comp-asgd") == 264
    assert server() == 264 + 26
    assert server("devices[0].count=9996") == 264 + 514  # a history of 512 MiB at most


def test_server_and_evaluator_have_limits_that_follow_the_model_and_the_devices() -> None:
    def limits(*overrides: str) -> tuple[int, int]:
        wanted = demand(load(FLAKY, ["training.algorithm=comp-asgd", *overrides]))
        assert wanted.server_limit > wanted.server
        return wanted.server_limit, wanted.evaluator_limit

    server, evaluator = limits()
    model = 4 * 421_642 / 2**20
    assert server == math.ceil(264 + (16 + 4 * 8) * model) << 20
    assert evaluator == math.ceil(1200 + 16 * model) << 20
    more, same = limits("devices[0].count=104")
    assert more - server == pytest.approx(4 * 100 * 4 * 421_642, abs=1 << 20)
    assert same == evaluator
    larger = limits("training.model=mnist-mlp")
    assert larger[0] > server and larger[1] > evaluator


def test_the_world_is_a_table_that_json_can_hold() -> None:
    scenario = load(FLAKY, ["devices[1].failures=[flaky-home, overheating-pi]"])
    shown = overview(scenario)
    rows = {row.name: row for row in shown.devices}
    assert rows["adsl-0"].up == Side(Rate(1e6), Seconds(0.025), Seconds(0.003), Fraction(0.001))
    assert (rows["fiber-0"].cpu, rows["fiber-0"].memory) == (0.4, 512 << 20)
    assert rows["adsl-0"].failures == ("flaky-home", "overheating-pi")
    assert len(shown.faults) == len(outages(scenario)) > 2
    assert {row.node for row in shown.hazards} == {"adsl-0", "adsl-1", "adsl-2", "adsl-3"}
    assert shown.hazards[0].per_iteration == 0.001
    assert (overview(small()).devices[0].cpu, overview(small()).devices[0].up) == (None, Side())
    assert json.loads(json.dumps(shown.plain()))["faults"][0]["at"] == 60


def test_a_server_with_layers_of_its_own_needs_tensorflow_and_a_core() -> None:
    def wanted(*overrides: str) -> Demand:
        return demand(load(FLAKY, ["training.algorithm=comp-asgd", *overrides]))

    whole, cut = wanted(), wanted("training.fully_connected={place: server}")
    assert (whole.server_cores, cut.server_cores) == (0, 1)
    assert cut.memory - whole.memory == cut.server - whole.server == SERVER_LEARNER
    # activations, labels and gradients of eight devices, and pages of TensorFlow's libraries
    crossing = 4 * 8 * (2 * 10 * 3136 * 4 + 40)
    assert cut.server_limit - whole.server_limit == pytest.approx(
        SERVER_LEARNER + SHARED + crossing, abs=1 << 20
    )
