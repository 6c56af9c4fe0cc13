"""Overrides: any key of a scenario can be set from the command line."""

from typing import Any

import pytest

from emulator.codecs import Dense, TopK
from emulator.errors import ScenarioError
from emulator.learning.datasets.split import Shards
from emulator.scenario import load
from emulator.units import Fraction, Rate, Seconds
from emulator.world.links.link import Side
from tests.fakes.small_scenario import FLAKY, small


@pytest.mark.parametrize(
    ("override", "get", "value"),
    [
        ("training.batch_size=32", lambda s: s.training.batch_size, 32),
        ("seed=-3", lambda s: s.seed, -3),
        (
            "training.split={kind: shards, per_device: 1}",
            lambda s: s.training.split,
            Shards(per_device=1),
        ),
        ("stop.time=5min", lambda s: s.stop.time, 300),
        ("stop.updates=", lambda s: s.stop.updates, None),
        ("server.checkpoint=", lambda s: s.server.checkpoint, None),
        ("server.checkpoint.every=5s", lambda s: s.server.checkpoint.every, 5),
        ("devices[1].link.up.rate=2mbit", lambda s: s.nodes[4].link.up.rate, 2e6),
        ("devices[0].count=1", lambda s: len(s.nodes), 5),
        ("devices[0].link=dial", lambda s: s.nodes[0].link.up.rate, 30e3),
        (
            "devices[0].link.up.rate=2mbit",
            lambda s: s.nodes[0].link.up,
            Side(Rate(2e6), Seconds(0.001)),
        ),
        (
            "devices[0].profile.memory=1GiB",
            lambda s: (s.nodes[0].cpu, s.nodes[0].memory),
            (0.4, 1 << 30),
        ),
        ("devices[1].failures=[]", lambda s: s.nodes[4].failures, ()),
        ("training.codec.keep=5%", lambda s: s.training.codec, TopK(Fraction(0.05))),
        ("faults=[]", lambda s: s.faults, ()),
    ],
)
def test_any_key_can_be_overridden(override: str, get: Any, value: object) -> None:
    assert get(load(FLAKY, [override])) == value


def test_overrides_are_applied_in_order_and_may_mend_the_file() -> None:
    overrides = ("training.algorithm=null", "training.codec=dense", "training.modulation=staleness")
    assert small(overrides=overrides).training.algorithm == "ada-sgd"
    unsaid = ("algorithm: asgd", "batch_size: 5")
    assert small(unsaid, overrides=("training.codec.kind=dense",)).training.codec == Dense()
    assert small(overrides=("seed=1", "seed=2")).seed == 2
    assert small(("asgd", "nonsense"), overrides=("training.algorithm=adacomp",))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("training.batch_size=0", "training.batch_size: 0 is not at least 1"),
        ("training.batchsize=3", "training.batchsize: no such key (did you mean 'batch_size'?)"),
        ("trainng.batch_size=3", "trainng: no such key (did you mean 'training'?)"),
        (
            "training.local_rate=0.1",
            "training.local_rate: no such key here: there is "
            "training.synchronization.local_rate (kind: fedavg or local-sgd)",
        ),
        ("batch_size=4", "batch_size: no such key here: there is training.batch_size"),
        ("accuracy=0.9", "accuracy: no such key here: there is stop.accuracy"),
        ("devices[0].cpu=0.5", "devices[0].cpu: no such key here: there is devices[0].profile.cpu"),
        (
            "devices[0].delay=5ms",
            "no such key here: there is devices[0].link.up.delay or devices[0].link.down.delay",
        ),
        ("devices[5].count=2", "devices has no entry [5]: it has 2"),
        ("devices.fiber.count=2", "devices is a list: name the entry, as devices[0]"),
        ("training[0]=2", "training is a mapping: name the key, as training.KEY"),
        ("seed.x=2", "seed is 7, which has no keys: set seed itself"),
        ("devices[0].link=fioss", "'fioss' is no link preset (did you mean 'fios'?)"),
        ("training.codec=dense", "training.codec: 'adacomp' sets this key too"),
        ("server=", "server: is empty: it must be a mapping"),
        ("seed=[1", "this is not YAML: expected ',' or ']'"),
        ("seed", "write PATH=VALUE, for example training.batch_size=32"),
        ("=3", "'' is no path to a value"),
        ("devices[x]=3", "'devices[x]' is no path to a value"),
    ],
)
def test_a_wrong_override_is_named_as_written(override: str, message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        load(FLAKY, [override])
    assert str(error.value).startswith(f"--set {override}: ")
    assert message in str(error.value)
