"""Which keys a runtime does not keep: every key is placed, and what is said is so."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from emulator.runtimes.virtual.play_virtual import play
from emulator.scenario import Scenario
from emulator.scenario.sections.devices import Section
from emulator.scenario.unkept import KEYS, unkept
from emulator.world.links.link import Link, Side
from tests.fakes.small_scenario import small
from tests.fakes.virtual_world import Onlooker


def _sections(annotation: Any) -> Iterator[type]:
    """Every class of the file's format that an annotation mentions, plugins left out."""
    if isinstance(annotation, type) and issubclass(annotation, Section | Link | Side):
        yield annotation
    for inside in get_args(annotation):
        yield from _sections(inside)


def _keys(section: type) -> Iterator[str]:
    if issubclass(section, BaseModel):
        annotations = {name: item.annotation for name, item in section.model_fields.items()}
    else:
        assert is_dataclass(section)
        types = {"Side": Side}
        annotations = {item.name: types.get(str(item.type), item.type) for item in fields(section)}
    for name, annotation in annotations.items():
        yield f"{section.__name__}.{name}"
        for inside in _sections(annotation):
            yield from _keys(inside)


def test_every_key_of_the_schema_has_its_place() -> None:
    """A new key must be kept by both runtimes, or the table says by which it is not."""
    assert set(_keys(Scenario)) == set(KEYS)


def test_nothing_is_said_of_what_is_not_set() -> None:
    assert unkept(small(), "docker") == unkept(small(), "virtual") == []


@pytest.mark.parametrize(
    ("fault", "more", "told"),
    [
        (
            "{kind: degrade, nodes: all, at: 1s, rate: 50%}",
            "devices[1].link=dsl",
            "faults[0].rate: the link of one has no rate of which a share could be left: give the "
            "link a rate, or the fault a `link` in place of `rate`",
        ),
        (
            "{kind: degrade, nodes: [one], at: 1s, loss: 5%}",
            "virtual.tcp=false",
            "faults[0].loss: with `virtual.tcp: false` nothing is lost: leave one of the two out",
        ),
        ("{kind: degrade, nodes: [pair], at: 1s, rate: 5%}", "devices[1].link=dsl", ""),
        ("{kind: degrade, nodes: [pair], at: 1s, loss: 5%}", "devices[1].link=dsl", ""),
    ],
)
def test_a_fault_that_changes_nothing_is_told(fault: str, more: str, told: str) -> None:
    scenario = small(overrides=(f"faults=[{fault}]", more))
    assert "".join(map(str, unkept(scenario, "virtual"))) == told


def test_a_memory_counts_in_virtual_time_where_a_fault_takes_some() -> None:
    kept = ("devices[0].profile={memory: 200MiB}",)
    fault = "faults=[{kind: memory, nodes: all, at: 1s, takes: 70%}]"
    assert [key for each in unkept(small(overrides=kept), "virtual") for key in each.keys] == [
        "devices[0].profile.memory"
    ]
    assert not unkept(small(overrides=(*kept, fault)), "virtual")


@pytest.mark.parametrize(
    ("override", "on", "keys"),
    [
        ("virtual={learner: numpy, step: 1ms}", "docker", ("virtual.learner", "virtual.step")),
        ("virtual.tcp=false", "docker", ("virtual.tcp",)),
        ("devices[0].profile={memory: 1GiB}", "virtual", ("devices[0].profile.memory",)),
        ("server.encrypt=true", "virtual", ("server.encrypt",)),
    ],
)
def test_each_key_is_told_by_its_place(override: str, on: str, keys: tuple[str, ...]) -> None:
    scenario = small(overrides=(override,))
    (result,) = unkept(scenario, on)
    assert result.keys == keys
    (other,) = {"docker", "virtual"} - {on}
    assert unkept(scenario, other) == []


def test_a_congestion_control_is_kept_where_tcp_is_modelled() -> None:
    chosen = "tcp={congestion: bbr}"
    assert unkept(small(overrides=(chosen,)), "virtual") == []
    result = unkept(small(overrides=(chosen, "virtual.tcp=false")), "virtual")
    assert ("tcp.congestion",) in [each.keys for each in result]


def test_loss_is_kept_where_tcp_is_modelled() -> None:
    lossy = "devices[0].link={up: {loss: 1%}}"
    assert unkept(small(overrides=(lossy,)), "virtual") == []
    (result,) = unkept(small(overrides=(lossy, "virtual.tcp=false")), "virtual")
    assert result.keys == ("devices[0].link.up.loss",)


@pytest.mark.parametrize(
    ("server", "devices", "rate", "exact"),
    [
        ("down: {rate: 20mbit}", 2, "20mbit", False),
        ("up: {rate: 20mbit}", 2, "20mbit", False),
        ("down: {rate: 20mbit}", 1, "20mbit", True),
        ("down: {rate: 20mbit}", 2, "10mbit", True),
        ("down: {rate: 20mbit}", 2, "15mbit", False),
        ("down: {setup: 1ms}", 2, "20mbit", True),
    ],
)
def test_set_ups_are_exact_unless_messages_meet_on_the_server_s_link(
    server: str, devices: int, rate: str, exact: bool
) -> None:
    side = f"{{rate: {rate}, setup: 5ms}}"
    group = f"{{name: peer, count: {devices}, link: {{up: {side}, down: {side}}}}}"
    scenario = small(overrides=(f"server.link={{{server}}}", f"devices=[{group}]"))
    keys = [each.keys for each in unkept(scenario, "docker")]
    told = ("devices[0].link.up.setup", "devices[0].link.down.setup")
    assert keys == ([] if exact else [told])
    assert unkept(scenario, "virtual") == []


def test_set_ups_are_exact_in_a_direction_in_which_no_messages_meet() -> None:
    group = "{name: peer, count: 2, link: {down: {setup: 5ms}}}"
    overrides = ("server.link={down: {rate: 20mbit}}", f"devices=[{group}]")
    assert unkept(small(overrides=overrides), "docker") == []


def test_where_nobody_learns_it_matters_not_how() -> None:
    changes = (
        *(
            "training.split=shards",
            "training.learning_rate=1",
            "training.modulation.kind=staleness",
        ),
        *("training.optimizer=adam", "evaluate.every=5", "server.checkpoint={every: 1s}"),
        "targets=[90%]",
    )
    assert unkept(small(overrides=changes), "virtual") == []
    (result,) = unkept(small(overrides=(*changes, "virtual.learner=none")), "virtual")
    assert len(result.keys) == len(changes)
    assert str(result).startswith(f"{', '.join(result.keys[:3])} and 4 more: with `virtual.learner")


@pytest.mark.parametrize("schedule", ["", "sequential"])
def test_times_of_layers_count_only_where_layers_travel_apart(schedule: str) -> None:
    given = ("virtual.step=1ms", "virtual.layers={forward: [1, 2, 3], backward: [1, 1, 9]}")
    (result,) = unkept(small(overrides=(f"training.schedule={schedule}", *given)), "virtual")
    assert result.keys == ("virtual.layers",)
    assert unkept(small(overrides=("training.schedule=ibatch", *given)), "virtual") == []


def test_a_patch_is_of_one_update_where_nobody_learns() -> None:
    changes = ("training.pull=delta", "virtual.learner=none")
    (result,) = unkept(small(overrides=changes), "virtual")
    assert result.keys == ("training.pull",)


# -- what is said is so ----------------------------------------------------------------------------

TRAFFIC = (
    *("virtual={learner: none, step: 20ms, boot: 1s}", "stop.updates=40"),
    "devices[0].link={up: {rate: 1mbit, delay: 10ms}, down: {rate: 2mbit}}",
)


def _log(tmp_path: Path, *overrides: str) -> bytes:
    """The log of a run in virtual time in which only traffic is played."""
    folder, _ = play(small(overrides=(*TRAFFIC, *overrides)), tmp_path, Onlooker())
    return (folder / "run.jsonl").read_bytes()


@pytest.mark.parametrize(
    "overrides",
    [
        ("devices[0].profile={memory: 1GiB}",),
        ("training.split=shards",),
        ("training.learning_rate=1",),
        ("training.modulation.kind=staleness",),
        ("training.optimizer=adam",),
        ("training.aggregation={kind: norm-clip, norm: 1}",),
        ("evaluate.every=5",),
        ("server.checkpoint={every: 1s}",),
        ("virtual.tcp=false", "devices[0].link.up.loss=5%"),
        ("virtual.layers={forward: [1, 2, 3], backward: [1, 1, 9]}",),
    ],
    ids=str,
)
def test_what_virtual_time_does_not_keep_changes_nothing(
    tmp_path: Path, overrides: tuple[str, ...]
) -> None:
    assert unkept(small(overrides=(*TRAFFIC, *overrides)), "virtual")
    assert _log(tmp_path, *overrides) == _log(tmp_path, *overrides[:-1])


@pytest.mark.parametrize(
    "override",
    [
        *("devices[0].link.up.setup=5ms", "server.link={down: {setup: 5ms}}"),
        *("devices[0].link.up.loss=5%", "devices[0].link.up.jitter=5ms", "seed=1"),
        *("devices[0].profile={cpu: 10%}", "training.batch_size=5", "virtual.serve=1ms"),
    ],
)
def test_what_virtual_time_keeps_changes_a_run(tmp_path: Path, override: str) -> None:
    # the seed and the batch size matter here through jitter and through epochs
    base = ("devices[1].link={up: {delay: 9ms, jitter: 9ms}}", "training.algorithm=fedavg")
    assert unkept(small(overrides=(*TRAFFIC, *base, override)), "virtual") == []
    assert _log(tmp_path, *base, override) != _log(tmp_path, *base)


@pytest.mark.parametrize("way", ["up", "down"])
@pytest.mark.parametrize(
    ("side", "plain"),
    [
        *(("{rate: 1mbit}", "{}"), ("{delay: 5ms}", "{}"), ("{loss: 5%}", "{}")),
        *(("{delay: 5ms, jitter: 5ms}", "{delay: 5ms}"), ("{setup: 5ms}", "{}")),
    ],
)
def test_virtual_time_keeps_each_key_of_the_server_s_link(
    tmp_path: Path, way: str, side: str, plain: str
) -> None:
    with_key, without = (f"server.link={{{way}: {text}}}" for text in (side, plain))
    assert _log(tmp_path, with_key) != _log(tmp_path, without)
