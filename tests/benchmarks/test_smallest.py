"""Every benchmark is imported, prints its help, and measures a smallest case.

What needs containers measures minutes: there, the import and the help are all. `test_bench.py` has
the smallest cases of codecs, plans, traffic and the box's loop.
"""

import ast
import json
import os
import subprocess
import sys
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import walk_packages
from unittest.mock import MagicMock

import pytest

from emulator.codecs import TopK
from emulator.learning.models import MODELS
from emulator.units import Fraction
from tests import benchmarks
from tests.benchmarks import __main__ as bench
from tests.benchmarks import durable, learning, single_node
from tests.benchmarks.links import box_loop, packet_box
from tests.benchmarks.parts import cut_parts, shard_parts
from tests.benchmarks.tuning import fresh_fleets, tuned_fleets
from tests.benchmarks.tuning.random_fleets import random_fleet
from tests.benchmarks.virtual import fleet
from tests.layers import ROOT, tree

MODULES = [
    found.name
    for found in walk_packages(benchmarks.__path__, "tests.benchmarks.")
    if not found.ispkg and not found.name.rpartition(".")[2].startswith("test_")
]
OF_PEERS = {
    f"tests.benchmarks.peers.{name}": libraries
    for name, libraries in {
        "peer_model": ("tensorflow",),
        "parameter_server_strategy": ("tensorflow", "peer_model"),
        "flower_rounds": (
            *("flwr", "flwr.server", "flwr.server.strategy", "flwr.common", "flwr.compat"),
            *("flwr.compat.client", "flwr.compat.client.app", "flwr.compat.client.numpy_client"),
            "peer_model",
        ),
    }.items()
}
"""Programs of an environment of their own, with its libraries."""


def is_command(name: str) -> bool:
    """Return whether the benchmark `name` is a program that people type."""
    spec = find_spec(name)
    assert spec is not None and spec.origin is not None
    tests = (node.test for node in tree(Path(spec.origin)).body if isinstance(node, ast.If))
    return any("__main__" in ast.unparse(test) for test in tests) and name not in OF_PEERS


COMMANDS = [name for name in MODULES if is_command(name)]


def test_the_walk_finds_the_benchmarks() -> None:
    assert {"tests.benchmarks.__main__", "tests.benchmarks.containers.streets"} <= {*COMMANDS}
    assert OF_PEERS.keys() <= {*MODULES}
    assert "tests.benchmarks.codecs.coding" in MODULES


@pytest.mark.parametrize("name", MODULES)
def test_every_benchmark_is_imported(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for library in OF_PEERS.get(name, ()):
        monkeypatch.setitem(sys.modules, library, MagicMock(__path__=[]))
    if name in OF_PEERS:
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert import_module(name).__doc__
    if name in OF_PEERS:  # with stand-ins for its libraries: nobody is to find it
        del sys.modules[name]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_prints_its_help(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = import_module(name)
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    monkeypatch.setenv("COLUMNS", "300")
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert ended.value.code == 0
    assert (program.__doc__ or "").splitlines()[0].removesuffix(".") in capsys.readouterr().out


# -- the smallest case of each ---------------------------------------------------------------------


@pytest.mark.slow
def test_a_part_is_measured_and_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(box_loop, "measure", partial(box_loop.measure, rounds=10))
    monkeypatch.setattr(sys, "argv", ["bench", "box", "--json"])
    bench.main()
    found = json.loads(capsys.readouterr().out)
    assert found["box"]["box_us"] > 0 and found["host"]["cores"] >= 1


@pytest.mark.slow
def test_one_core_by_images_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    smallest = {"AT_ONCE": (1, 2), "ROUNDS": 1, "SPAN": 1e-3, "LAYERS": single_node.LAYERS[:1]}
    for name, value in smallest.items():
        monkeypatch.setattr(single_node, name, value)
    ((layer, rates),) = single_node.layers().items()
    assert layer == "mnist-cnn conv0" and rates.keys() == {1, 2} and min(rates.values()) > 0


@pytest.mark.slow
def test_traffic_in_a_process_of_its_own() -> None:
    assert fleet._apart("traffic", 10, 50, fleet.RATED)["updates"] == 50


FORKING = """
import json, os
from tests.benchmarks import exchange, gradient
from tests.benchmarks.virtual import bare
bare.BLOCK, gradient._WARM, exchange._WARM = 1, 1, 0.1
gradients = gradient.rate(1, 0.05)  # first what forks: then ZeroMQ has threads
alone = bare.measure(processes=1, devices=1, rounds=1)
exchanges = [exchange.rate(encrypt=encrypt, seconds=0.1) for encrypt in (False, True)]
print(json.dumps([gradients, alone, exchanges]))
"""


@pytest.mark.slow
@pytest.mark.tensorflow
def test_gradients_and_exchanges_alone() -> None:
    """In a process without threads, as all of them fork."""
    done = subprocess.run(
        [sys.executable, "-c", FORKING], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    gradients, alone, exchanges = json.loads(done.stdout)
    assert gradients > 1 and min(exchanges) > 10
    assert alone["update"] > 0 and alone["gradient"] > 0


@pytest.mark.slow
@pytest.mark.tensorflow
def test_a_fleet_that_trains(monkeypatch: pytest.MonkeyPatch) -> None:
    small = fleet.TRAINING.replace("count: 200", "count: 2")
    assert small != fleet.TRAINING
    monkeypatch.setattr(fleet, "TRAINING", small)
    found = fleet.trained(3)
    assert found["updates"] == 3 and 0 < found["steady_seconds"] < found["seconds"]


@pytest.mark.slow
@pytest.mark.tensorflow
def test_a_model_learns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["learning", "digits-mlp", "3", "0.05", "8"])
    learning.main()
    found = ast.literal_eval(capsys.readouterr().out)
    assert 0 < found["accuracy"] < 1 and found["step_ms"] > 0


@pytest.mark.slow
@pytest.mark.tensorflow
def test_the_parts_of_a_cut_model(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {"SIZES": (2,), "REPEATS": 2, "BATCHES": 2, "BATCH": 4}.items():
        monkeypatch.setattr(cut_parts, name, value)
    monkeypatch.setattr(sys, "argv", ["cut_parts", "mnist-cnn", "1", "1"])
    cut_parts.main()
    found = json.loads(capsys.readouterr().out)
    assert found["layer"] == 1
    assert found["ms"]["2"].keys() == {"whole", "forward", "server", "backward"}
    assert found["f16"].keys() == {"0", "1"} and found["f16"]["0"]["largest"]["device"] < 0.1


def test_the_parts_of_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"ROUNDS": 1, "EXCHANGES": 2}.items():
        monkeypatch.setattr(shard_parts, name, value)
    whole = MODELS["digits-mlp"].layout
    assert min(shard_parts.seconds(TopK(Fraction(0.01)), part) for part in (whole, whole)) > 0


@pytest.mark.slow
def test_a_durable_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable, "WARM", 0.1)
    monkeypatch.setattr(durable, "CODECS", {"topk 1%": durable.CODECS["topk 1%"]})
    monkeypatch.setattr(durable, "DURABILITIES", {"update": durable.DURABILITIES["update"]})
    ((codec, cost),) = durable.costs(0.3).items()
    assert codec == "topk 1%" and cost["update"] > 0


@pytest.mark.slow
def test_a_fresh_fleet_plays_a_grid(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The search itself has its tests: here a grid of one setting is played."""
    for name, value in {"SEEDS": (1,), "RULES": {}}.items():
        monkeypatch.setattr(fresh_fleets, name, value)
    grid = fresh_fleets.full_grid
    monkeypatch.setattr(fresh_fleets, "full_grid", lambda *of: grid(*of)[:1])
    drawn = random_fleet(5)
    found = fresh_fleets.judged(drawn, tmp_path)
    assert (found.name, len(found.times)) == ("5", 1)
    assert found.exhaustive[0] > 0


@pytest.mark.slow
def test_a_fleet_is_tuned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A fleet of one device, at one rate: the choice is a momentum."""
    monkeypatch.setattr(tuned_fleets, "RATES", ("--rates", "0.1"))
    alone = ("--set", "devices[0].count=1", "--probe", "8updates")
    report = tuned_fleets.tuned(tuned_fleets.FLEETS[0], tmp_path, *alone)
    assert (report["setting"]["groups"], report["setting"]["rate"]) == (1, 0.1)


ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make network namespaces")


@pytest.mark.netns
@ROOT_ONLY
def test_commands_that_change_a_link() -> None:
    program = [sys.executable, "-m", "tests.benchmarks.links.link_commands", "--times", "1"]
    done = subprocess.run(["unshare", "-n", *program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        *("cut", "mend", "rates", "rates", "losses", "losses")
    ]


@pytest.mark.netns
@ROOT_ONLY
@pytest.mark.skipif(not os.path.exists("/dev/net/tun"), reason="needs /dev/net/tun")
def test_transfers_through_the_box(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shortest = min(packet_box.TRANSFERS.items(), key=lambda transfer: transfer[1])
    monkeypatch.setattr(packet_box, "TRANSFERS", dict([shortest]))
    monkeypatch.setattr(packet_box, "TRIES", 1)
    monkeypatch.setattr(sys, "argv", ["packet_box", "transfers"])
    packet_box.main()
    rows = [line for line in capsys.readouterr().out.splitlines() if "rate by" in line]
    assert len(rows) == 2
