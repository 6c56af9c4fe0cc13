"""One device, one answer: every estimate of an exchange gives the number that a run shows."""

import json
from pathlib import Path

import pytest

from emulator.checks.deadlines import _update_times
from emulator.costs.compute_groups import _iteration_times
from emulator.costs.cut_traffic import cut_traffic
from emulator.costs.exchange import _fastest_side, exchanges, lower_bounds, update_sizes
from emulator.costs.host_dilation import core_demand
from emulator.costs.layer_costs import device_costs
from emulator.costs.prediction import hardware_efficiency
from emulator.runtimes.virtual.play_virtual import play
from emulator.scenario import Scenario, loads
from tests.fakes.virtual_world import Onlooker

STEP = 0.25
SCENARIO = f"""
name: one-device
training: {{dataset: digits, model: digits-mlp, codec: dense, synchronization: asynchronous,
  pull: {{kind: dense, values: f16}}}}
stop: {{updates: 12}}
server: {{link: {{up: {{rate: 100mbit, delay: 2ms}}, down: {{rate: 500kbit, setup: 3ms}}}}}}
virtual: {{learner: none, step: {STEP}s, boot: 0s, tcp: false,
  layers: {{forward: [1, 1, 1], backward: [2, 2, 2]}}}}
devices: [{{name: home, link: {{up: {{rate: 2mbit, delay: 30ms, setup: 5ms}},
  down: {{rate: 8mbit, delay: 20ms, setup: 4ms}}}}}}]
"""
PARAMETERS = 17_226
FRAME = 8 * 1514 / 1448
"""Bits on the wire for each byte."""


@pytest.fixture
def scenario() -> Scenario:
    return loads(SCENARIO)


def test_an_exchange_is_a_pull_a_push_and_the_request_behind_it(scenario: Scenario) -> None:
    exchange = exchanges(scenario)["home"]
    sizes = exchange.sizes
    assert sizes.pull == pytest.approx(2 * PARAMETERS, rel=2e-3) and sizes.pull > 2 * PARAMETERS
    assert sizes.push == pytest.approx(4 * PARAMETERS, rel=2e-3) and sizes.push > 4 * PARAMETERS
    down, up, request = sizes.pull / 8e6, sizes.push / 500e3, sizes.request / 500e3
    assert exchange.before() == pytest.approx(0.004 + down * FRAME + 0.022)
    assert exchange.after() == pytest.approx(0.008 + up * FRAME + 0.030)
    assert exchange.request == pytest.approx(0.008 + request * FRAME)
    both = exchange.before() + exchange.after()
    assert exchange.seconds() == both + exchange.request
    assert exchange.seconds(serve=0.005) == both + exchange.request  # the server waits for it
    assert exchange.seconds(serve=0.05) == both + 0.05


@pytest.mark.parametrize("serve", [0.0, 0.005, 0.05])
def test_a_run_and_each_estimate_have_the_same_time(serve: float, tmp_path: Path) -> None:
    scenario = loads(SCENARIO, [f"virtual.serve={serve}s"])
    exchange = exchanges(scenario)["home"]
    iteration = STEP + exchange.seconds(serve=serve)
    folder, _ = play(scenario, tmp_path, Onlooker(), cores=1)
    lines = map(json.loads, (folder / "run.jsonl").read_text().splitlines())
    times = [line["at"] for line in lines if line["what"] == "update"]
    # versions and tickets of a short run take some bytes less
    assert times[-1] - times[1] == pytest.approx((len(times) - 2) * iteration, rel=1e-4)
    cycle = hardware_efficiency(scenario, [1], lambda text: None).cycle_of(1)
    assert cycle.total == pytest.approx(iteration)
    assert core_demand(scenario).devices == pytest.approx(STEP / iteration, abs=1e-6)
    compute = 6 * PARAMETERS * scenario.training.batch_size / 5e9
    assert _iteration_times(scenario, 1)["home"] == pytest.approx(exchange.seconds() + compute)


def test_the_layers_costs_add_up_to_it(scenario: Scenario) -> None:
    """But for the request, which a scheduler cannot move, and the heads, some bytes longer."""
    training = scenario.training
    push = update_sizes(training.codec, training.layout)
    prior = device_costs(scenario, training.layout, push)["home"]
    costs = prior.seconds
    delays = prior.down.delay + prior.up.delay
    summed = sum(costs.pull) + sum(costs.push) + costs.pull_setup + costs.push_setup + delays
    exchange = exchanges(scenario)["home"]
    assert summed == pytest.approx(exchange.before() + exchange.after(), rel=1e-3)


def test_a_lower_bound_is_below_it_and_is_what_deadlines_take(scenario: Scenario) -> None:
    bound = lower_bounds(scenario)["home"].seconds()
    exchange = exchanges(scenario)["home"]
    assert bound == exchange.before() + exchange.after() < exchange.seconds()
    assert _update_times(scenario, None)["home"] == bound
    sparse = loads(
        SCENARIO.replace("codec: dense", "codec: {kind: topk, keep: 1%}").replace(
            "dense, v", "delta, v"
        )
    )
    least = lower_bounds(sparse)["home"]
    assert least.seconds() < exchanges(sparse)["home"].seconds()
    assert max(least.sizes.pull, least.sizes.push) < 200
    assert lower_bounds(sparse, first=True)["home"].sizes.pull > 2 * PARAMETERS


def test_the_traffic_of_a_cut_model_is_that_of_its_exchange() -> None:
    cut = ["training.fully_connected={place: server}", "training.dataset=mnist"]
    codec = "training.codec={kind: topk, keep: 1%}"
    scenario = loads(SCENARIO, [*cut, "training.model=mnist-cnn", codec, "virtual.layers="])
    traffic, sizes = cut_traffic(scenario), exchanges(scenario)["home"].sizes
    assert traffic is not None
    assert 0 < sizes.pull - traffic.device.pull < 100 and 0 < sizes.push - traffic.device.push < 100
    crossing, rows = sizes.crossing, traffic.rows
    assert (traffic.sizes.up, traffic.sizes.down) == (crossing.up * rows, crossing.down * rows)


def test_a_lower_bound_is_of_a_link_at_its_fastest() -> None:
    changing = SCENARIO.replace(
        "rate: 2mbit, delay: 30ms, setup: 5ms",
        "rate: 20kbit, delay: 30ms, steps: [{at: 9s, rate: 400kbit}, {at: 10s, delay: 8ms}]",
    )
    up = lower_bounds(loads(changing))["home"].up
    assert up.rate == pytest.approx(400e3) and up.delay == 0.008
    assert lower_bounds(loads(SCENARIO))["home"].up == exchanges(loads(SCENARIO))["home"].up


@pytest.mark.parametrize(
    "keys",
    [
        "jitter: 1ms, distribution: pareto, correlation: 50%",
        "reorder: 2%, gap: 3",
        "overhead: 8, limit: 50",
        "jitter: 1ms, duplicate: 1%, corrupt: 1%",
    ],
)
def test_a_lower_bound_takes_the_best_moment_of_a_link_with_any_keys(keys: str) -> None:
    steps = "steps: [{at: 1s, rate: 4mbit}, {at: 2s, delay: 9ms}]"
    link = f"link: {{up: {{rate: 2mbit, delay: 30ms, setup: 5ms, {keys}, {steps}}},"
    plain = SCENARIO.replace("link: {up: {rate: 2mbit, delay: 30ms, setup: 5ms},", link)
    assert plain != SCENARIO
    up = lower_bounds(loads(plain))["home"].up
    paid = 1522 / 1514 if "overhead" in keys else 1.0
    assert up.delay == pytest.approx(0.009) and up.setup == pytest.approx(0.008)
    assert lower_bounds(loads(SCENARIO))["home"].up.pace >= up.pace
    assert _fastest_side([loads(plain).devices[0].link.up]).net_rate == pytest.approx(4e6 / paid)
