"""`server.shards`: how many there may be, and every part that does not go together with them."""

import pytest

from emulator.checks.preflight import preflight
from emulator.errors import ScenarioError
from emulator.runs.planning import plan
from emulator.scenario import dump, loads
from tests.fakes.small_scenario import mistakes, small


def with_server(keys: str, more: str = "") -> tuple[str, str]:
    return "stop:", f"server: {{{keys}}}\n{more}stop:"


SHARDS = with_server("shards: 2")
WHEN = "nodes: [one], at: 1s, lasts: 1s"


def test_a_server_has_one_shard_or_as_many_as_are_written() -> None:
    assert small().server.shards == 1
    scenario = small(with_server("shards: 3"))
    assert scenario.server.shards == plan(scenario, None).worker.shards == 3
    assert loads(dump(scenario)) == scenario


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            (with_server("shards: 4"),),
            "4 shards need a layer each, and the model has 3 layers: write 3 or less",
        ),
        ((with_server("shards: 0"),), "server.shards: 0 is not at least 1"),
        (
            (
                ("digits-mlp", "{layers: vgg-19}"),
                with_server("shards: 20", "virtual: {step: 1s}\n"),
            ),
            "20 shards need a layer each, and the model has 19 layers",
        ),
        (
            (SHARDS, ("algorithm: asgd", "codec: {kind: dgc, clip: 1}")),
            "does not go with the codec 'dgc': every shard takes its part of an update",
        ),
        (
            (SHARDS, ("algorithm: asgd", "codec: {kind: topk, keep: 1%, scope: global}")),
            "does not go with the codec 'topk'",
        ),
        (
            (SHARDS, ("algorithm: asgd", "algorithm: asgd\n  schedule: dynacomm")),
            "does not go with training.schedule",
        ),
        (
            (
                SHARDS,
                (
                    "algorithm: asgd",
                    "algorithm: asgd\n  fully_connected: {place: {after: 1}}",
                ),
            ),
            "does not go with training.fully_connected",
        ),
        (
            (SHARDS, ("devices:", "measure: {compression: {}}\ndevices:")),
            "does not go with measure.compression",
        ),
        (
            (
                SHARDS,
                (
                    "devices:",
                    "bottlenecks: [{name: b, up: {rate: 1mbit}, members: [one]}]\ndevices:",
                ),
            ),
            "does not go with bottlenecks",
        ),
        (
            (
                SHARDS,
                ("devices:", f"faults: [{{kind: crash, {WHEN}, keeps: state}}]\ndevices:"),
            ),
            "the state is kept of devices that push to one server only",
        ),
    ],
)
def test_what_does_not_go_together_with_shards_is_refused(
    changes: tuple[tuple[str, str], ...], message: str
) -> None:
    (mistake,) = mistakes(*changes)
    assert message in mistake


@pytest.mark.parametrize(
    "algorithm",
    ["adacomp", "adacomp-ef", "adacomp-residual", "bsp", "ssp", "fedavg", "qsgd", "signsgd"],
)
def test_all_else_goes_together_with_shards(algorithm: str) -> None:
    assert small(SHARDS, ("algorithm: asgd", f"algorithm: {algorithm}")).server.shards == 2


@pytest.mark.parametrize(
    "on, durability, reasons",
    [
        ("docker", "update", []),
        ("virtual", "{every: 5s}", []),
        (
            "docker",
            "{every: 5s}",
            [
                "server.durability: in containers a shard comes back alone, and an older state "
                "would not fit those of the others: write update, or play the scenario with --on "
                "virtual"
            ],
        ),
        (
            "swarm",
            "update",
            [
                "server.shards: the shards tell each other of messages over sockets of one host: "
                "leave it out, or play the scenario with --on docker or --on virtual"
            ],
        ),
    ],
)
def test_shards_are_refused_by_name_where_a_runtime_has_none(
    on: str, durability: str, reasons: list[str]
) -> None:
    scenario = small(with_server(f"shards: 2, durability: {durability}"))
    found = preflight(scenario, on, split_by=lambda scenario: None).refusals
    told = [each for each in found if str(each).startswith("server.")]
    assert [str(each) for each in told] == reasons
    assert all(isinstance(each, ScenarioError) for each in told)
