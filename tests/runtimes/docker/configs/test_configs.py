"""The configurations and orders of containers, which pure functions make, word for word."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from emulator.node import config
from emulator.node.config import Boxed, NodeConfig, WorkerRole
from emulator.runtimes.docker.configs import NodeConfigs
from emulator.runtimes.docker.network import neighbours
from emulator.runtimes.docker.network.ways import Ways
from emulator.scenario import Scenario, cores_and_memory, loads
from emulator.shaping import access
from emulator.shaping.backend import Backend
from emulator.world.links import reshaping
from emulator.world.links.link import FRAME, Link
from emulator.world.links.reshaping import plain as plain_link
from tests.runtimes.docker.configs.pair_configs import (
    DELAYED,
    FAR,
    HELD,
    NEAR,
    SCENARIO,
    TEXT,
    configs,
)


def plain(node: NodeConfig) -> Any:
    """The part as JSON holds it."""
    return msgspec.to_builtins(node)["part"]


WORKER_PLAN = {
    "seed": 7,
    "batch_size": 20,
    "codec": {
        "kind": "topk",
        "keep": 0.01,
        "indices": "gap",
        "scope": "variable",
        "values": "f32",
    },
    "error_feedback": False,
    "fleet": 2,
    "local": {"rate": 0.1, "steps": 1, "epochs": 0},
    "pull": {"kind": "dense", "values": "f32"},
    "schedule": {"kind": "sequential"},
    "batch_sizes": {},
    "cut": None,
    "noisy": False,
    "form": {"encrypted": False, "checked": False, "durable": False},
    "shards": 1,
}


NO_SETUP = {"setup": 0.0, "pace": 0.0}


# -- behind the box --------------------------------------------------------------------------------

BOXED = Backend(rate="tbf", delay="packets", loss="box", cut="nftables")
RATED = TEXT.replace("1gbit, delay: 2ms", "1gbit")


def test_nodes_with_a_delay_are_behind_the_box_and_nobody_holds_their_messages() -> None:
    ours = configs(BOXED)
    assert ours.networks.boxed == {"server", "far"}
    far, near = ours.device(FAR, ["10.0.0.2"]), ours.device(NEAR, ["10.0.0.2"])
    assert far.network.shape == []
    assert far.network.boxed == Boxed(
        reshaping.plain(FAR.link),
        BOXED.plain(),
        [reshaping.plain_side(SCENARIO.server.link.down)],
    )
    assert far.network.sever == access.sever(FAR.link, BOXED)
    assert near.network.boxed is None
    assert ours.server().network.boxed is not None
    assert plain(ours.server())["holds"] == {}
    assert plain(far)["connection"]["hold"] == {"delay": 0.0, "jitter": 0.0, **NO_SETUP}
    assert ours.evaluator(["10.0.0.2"]).network == configs(HELD).evaluator(["10.0.0.2"]).network
    assert ours.networks.shortest == 0.002


def test_a_link_with_a_rate_alone_is_shaped_as_ever() -> None:
    ours = configs(BOXED, RATED)
    assert ours.networks.boxed == {"far"}
    assert ours.server().network == configs(DELAYED, RATED).server().network
    assert ours.networks.shortest == 0.025
    assert configs(HELD).networks.boxed == configs(DELAYED).networks.boxed == set()


def test_a_link_that_a_fault_may_delay_is_behind_the_box_from_the_start() -> None:
    degrade = "{kind: degrade, nodes: [near], at: 5s, lasts: 5s, delay: 100ms}"
    ours = configs(BOXED, RATED.replace("\nfaults: [", f"\nfaults: [{degrade}, "))
    assert ours.networks.boxed == {"near", "far"}


# -- configs ---------------------------------------------------------------------------------------


def test_the_server_is_told_everything_but_the_links_of_others() -> None:
    assert plain(configs().server()) == {
        "type": "server",
        "guests": {
            "type": "plain",
            "tokens": {
                "near": "secret of near",
                "far": "secret of far",
                "evaluator": "secret of evaluator",
            },
        },
        "heartbeat": {"interval": 2.0, "timeout": 10.0},
        "plan": {
            "worker": WORKER_PLAN,
            "model": "digits-mlp",
            "learning_rate": 0.1,
            "optimizer": {"kind": "sgd"},
            "aggregation": {"kind": "mean"},
            "examples": {"near": 700, "far": 300},
            "modulation": {"kind": "per-parameter"},
            "synchronization": {"kind": "asynchronous"},
            "workers": ("near", "far"),
            "groups": (),
            "evaluator": "evaluator",
            "every": 50,
            "kept": False,
            "stop": {"updates": 100, "accuracy": 0.97, "loss": None, "time": 60.0},
            "quarantine": None,
            "checkpoint": 30.0,
            "durability": None,
            "conducted": False,
            "by_name": False,
        },
        "gathering": None,
        "initial": False,
        "resumes": 0,
        "resumed_at": 0.0,
        "shard": 0,
        "changing": False,
        "holds": {
            "near": {"delay": 0.002, "jitter": 0.0, **NO_SETUP},
            "far": {"delay": pytest.approx(0.027), "jitter": 0.003, **NO_SETUP},
            "evaluator": {"delay": 0.002, "jitter": 0.0, **NO_SETUP},
        },
    }


def test_a_shaped_link_is_measured_as_the_scenario_asks_for_it() -> None:
    made = configs(DELAYED)
    far = made.device(FAR, ["10.0.0.2"]).network.measured
    assert far is not None and far.delayed
    assert (far.link, far.server) == (plain_link(FAR.link), plain_link(SCENARIO.server.link))
    held = configs(HELD).device(FAR, ["10.0.0.2"]).network.measured
    assert held is not None and not held.delayed
    server = made.server().network.measured
    assert server is not None
    assert (server.link, server.server) == (plain_link(SCENARIO.server.link), None)
    assert made.evaluator(["10.0.0.2"]).network.measured is None


def test_no_unshaped_link_is_measured() -> None:
    start, end = TEXT.index("server:"), TEXT.index("devices:")
    unshaped = TEXT[:start] + TEXT[end:]
    unshaped = unshaped.replace(
        unshaped[unshaped.index("    link:") : unshaped.index("    fai")], ""
    )
    made = configs(text=unshaped)
    assert made.server().network.measured is None
    assert made.device(made.scenario.nodes[1], ["10.0.0.2"]).network.measured is None


def test_where_nobody_conducts_the_server_waits_for_hellos_itself() -> None:
    assert plain(configs().server(120.0))["gathering"] == 120.0


def test_a_device_is_told_no_secret_but_its_own() -> None:
    assert plain(configs().device(FAR, ["10.0.0.2"])) == {
        "type": "worker",
        "connection": {
            "address": "tcp://10.0.0.2:5555",
            "secret": {"type": "plain", "name": "far", "token": "secret of far"},
            "heartbeat": {"interval": 2.0, "timeout": 10.0},
            "timeout": 30.0,
            "hold": {"delay": 0.025, "jitter": 0.0, **NO_SETUP},
            "changing": False,
            "checked": False,
            "others": (),
        },
        "plan": WORKER_PLAN,
        "hazards": [
            {
                "kind": "crash",
                "begin": "kill",
                "end": "start",
                "setting": None,
                "per_iteration": 0.01,
                "lasts": {"fixed": 30.0},
            }
        ],
        "keeps": False,
        "battery": None,
        "prior": None,
    }


def test_the_evaluator_is_told_whom_to_ask() -> None:
    node = configs().evaluator(["10.0.0.2"])
    assert plain(node)["connection"]["secret"]["name"] == "evaluator"
    assert node.network.shape == []


def test_where_the_kernel_delays_nobody_holds() -> None:
    made = configs(DELAYED)
    assert plain(made.server())["holds"] == {}
    hold = {"delay": 0.0, "jitter": 0.0, **NO_SETUP}
    assert plain(made.device(FAR, ["x"]))["connection"]["hold"] == hold


@pytest.mark.parametrize("backend", [HELD, DELAYED])
def test_set_up_is_left_to_the_receiver_and_charged_to_no_measurement(backend: Backend) -> None:
    """Both ends' set-ups add up, the slower rate counts, and the evaluator's messages are free."""
    text = TEXT.replace("down: {rate: 1gbit", "down: {setup: 3ms, rate: 1gbit")
    made = configs(backend, text.replace("up: {rate: 1mbit", "up: {setup: 10ms, rate: 1mbit"))
    holds = plain(made.server())["holds"]
    assert holds["far"]["setup"] == pytest.approx(0.013)
    assert holds["far"]["pace"] == pytest.approx(8 * FRAME / 1e6)
    assert holds["near"]["setup"] == pytest.approx(0.003)
    assert holds["near"]["pace"] == pytest.approx(8 * FRAME / 1e9)
    assert holds.get("evaluator", NO_SETUP)["setup"] == 0.0
    assert (holds["far"]["delay"] > 0) == (backend == HELD)
    far = made.scenario.nodes[1]
    assert plain(made.device(far, ["x"]))["connection"]["hold"]["setup"] == 0.0


@pytest.mark.parametrize("backend", [HELD, DELAYED])
def test_each_node_is_told_how_to_shape_itself(backend: Backend) -> None:
    made = configs(backend)
    links = [SCENARIO.server.link, NEAR.link, FAR.link, Link()]
    nodes = [
        made.server(),
        made.device(NEAR, ["x"]),
        made.device(FAR, ["x"]),
        made.evaluator(["x"]),
    ]
    for node, link in zip(nodes, links, strict=True):
        own = neighbours.take_address() if node.name == "server" else []
        assert node.network.shape == own + access.shape(link, backend)
        assert node.network.sever == access.sever(link, backend)
        assert node.network.mend == access.mend(link, backend)
        assert node.user == 65534


def test_the_server_is_a_permanent_neighbour_of_all_that_know_its_address() -> None:
    made = configs()
    (known,) = made.device(NEAR, ["10.9.0.2"]).network.known
    (taken,) = neighbours.take_address()
    ethernet = str(taken).split()[-1]
    assert str(known) == f"ip neigh replace 10.9.0.2 lladdr {ethernet} dev eth0 nud permanent"
    assert made.evaluator(["10.9.0.2"]).network.known == [known]
    assert made.server().network.shape[0] == taken
    # a name is resolved later, and the member of a bottleneck has its gateway as neighbour
    assert made.device(NEAR, ["server"]).network.known == []
    behind = replace(
        made, ways=Ways({FAR.name: "street"}, {"server": "10.9.0.2", "street": "10.9.0.9"})
    )
    assert behind.device(FAR, ["10.9.0.2"]).network.known == []


def test_each_shard_is_told_its_number_and_devices_reach_all_of_them() -> None:
    made = configs(text=TEXT.replace("server: {", "server: {shards: 3, "))
    assert made.servers == ["server", "server_2", "server_3"]
    nodes = [made.server(shard=number) for number in range(3)]
    assert [node.name for node in nodes] == made.servers
    assert [plain(node)["shard"] for node in nodes] == [0, 1, 2]
    known = made.device(NEAR, ["10.9.0.2", "10.9.0.3", "10.9.0.4"])
    assert plain(known)["connection"]["others"] == ("tcp://10.9.0.3:5555", "tcp://10.9.0.4:5555")
    taken = [str(node.network.shape[0]).split()[-1] for node in nodes]
    assert len({*taken}) == 3
    assert [str(command).split()[5] for command in known.network.known] == taken
    assert [node.network.shape[1:] for node in nodes] == [nodes[0].network.shape[1:]] * 3
    whole = made.evaluator(["10.9.0.2", "10.9.0.3", "10.9.0.4"])
    assert plain(whole)["connection"]["others"] == ()


def test_the_server_joins_as_many_networks_as_there_are_bridges(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert configs().server().network.joins == 1
    monkeypatch.setattr(cores_and_memory, "PORTS", 3)
    assert configs().server().network.joins == 2
    assert configs().device(NEAR, ["x"]).network.joins == 1


def test_what_is_sent_fits_the_links_that_it_passes() -> None:
    made = configs(text=TEXT.replace("down: {rate: 8mbit", "down: {rate: 80mbit"))
    assert str(made.server().network.shape[1]) == "ip link set dev eth0 gso_max_segs 14"
    slow = configs(text=TEXT.replace("down: {rate: 1gbit", "down: {rate: 40mbit"))
    assert "ip link set dev eth0 gso_max_segs 7" in map(str, slow.device(NEAR, ["x"]).network.shape)


def test_where_nothing_is_cut_nothing_is_told_of_it() -> None:
    network = configs(replace(HELD, cut="none")).device(FAR, ["x"]).network
    assert (network.sever, network.mend) == ([], [])


def _patience(made: NodeConfigs) -> float:
    part = made.device(FAR, ["x"]).part
    assert isinstance(part, WorkerRole)
    return part.connection.timeout


def test_a_large_model_on_a_slow_link_is_waited_for() -> None:
    """25 M parameters over 1 mbit up take 14 minutes: neither a question nor a connection dies."""
    slow, quick = configs(parameters=25_000_000), configs(parameters=1000)
    needed = FAR.link.up.transfer(100e6)
    assert _patience(slow) > 2 * needed
    assert slow.heartbeat().timeout > 2 * needed
    assert _patience(quick) == 30.0
    assert quick.heartbeat().timeout == 10.0


def test_a_long_set_up_is_waited_for() -> None:
    """An exchange is a pull and an update up, and a model down."""
    text = TEXT.replace("up: {rate: 1mbit", "up: {setup: 10s, rate: 1mbit")
    text = text.replace("down: {rate: 8mbit", "down: {setup: 5s, rate: 8mbit")
    made = configs(text=text)
    part = made.device(made.scenario.nodes[1], ["x"]).part
    assert isinstance(part, WorkerRole)
    assert part.connection.timeout == pytest.approx(4 * 25, rel=0.02)


def test_each_piece_may_take_a_set_up() -> None:
    text = TEXT.replace("up: {rate: 1mbit", "up: {setup: 10s, rate: 1mbit")
    text = text.replace("algorithm: adacomp", "algorithm: asgd, schedule: layer-by-layer")
    made = configs(text=text)
    part = made.device(made.scenario.nodes[1], ["x"]).part
    assert isinstance(part, WorkerRole)
    layers = len(made.scenario.training.layout.layers)
    assert part.connection.timeout == pytest.approx(4 * 10 * (layers + 1), rel=0.02)


@pytest.mark.parametrize("name", ["server", "near", "far", "evaluator"])
def test_orders_survive_the_file(name: str, tmp_path: Path) -> None:
    made = configs()
    nodes = [made.server(), *(made.device(d, ["x"]) for d in SCENARIO.nodes), made.evaluator(["x"])]
    node = next(item for item in nodes if item.name == name)
    config.write(node, tmp_path / "node.json")
    assert config.read(tmp_path / "node.json") == node


@pytest.mark.parametrize("backend", [HELD, DELAYED])
@pytest.mark.parametrize("place", ["devices[1].link", "server.link"])
@pytest.mark.parametrize("way", ["up", "down"])
@pytest.mark.parametrize(
    ("key", "value"),
    [("rate", "3mbit"), ("delay", "60ms"), ("jitter", "1ms"), ("loss", "2%"), ("setup", "7ms")],
)
def test_containers_are_told_of_each_key_of_a_link(
    backend: Backend, place: str, way: str, key: str, value: str
) -> None:
    """The kernel shapes, or the receiver at one of the two ends holds back."""
    means = replace(backend, loss="netem" if backend is DELAYED else "nftables")

    def told(scenario: Scenario) -> Any:
        made = replace(configs(means), scenario=scenario)
        return made.server(), made.device(scenario.nodes[1], ["x"])

    base = ("server.link={up: {delay: 9ms}, down: {delay: 9ms}}",)
    base += ("devices[1].link={up: {delay: 9ms}, down: {delay: 9ms}}",)
    assert told(loads(TEXT, base)) != told(loads(TEXT, (*base, f"{place}.{way}.{key}={value}")))
