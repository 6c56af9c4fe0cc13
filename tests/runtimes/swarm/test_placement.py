"""Devices go where their label allows it, where their memory fits, and where cores are free."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.errors import HostError
from emulator.runtimes.swarm.placement import HostRoom, place
from emulator.scenario import Scenario, loads

GIB = 2**30


def fleet(*groups: str) -> Scenario:
    listed = "".join(f"  - {{{group}}}\n" for group in groups)
    return loads(
        "name: fleet\ntraining: {dataset: digits, model: digits-mlp, algorithm: asgd}\n"
        f"stop: {{updates: 10}}\ndevices:\n{listed}"
    )


def rooms(*cores: float, memory: int = 64 * GIB, labels: str = "") -> list[HostRoom]:
    names = [chr(ord("a") + number) for number in range(len(cores))]
    return [
        HostRoom(name, own, memory, label=labels) for name, own in zip(names, cores, strict=True)
    ]


def test_the_devices_fill_the_hosts_evenly_and_the_first_has_the_server_too() -> None:
    placed = place(fleet("name: d, count: 5"), rooms(2, 2, 2))
    counts = {name: list(placed.values()).count(name) for name in "abc"}
    assert counts == {"a": 1, "b": 2, "c": 2}


def test_a_larger_host_has_more_devices() -> None:
    placed = place(fleet("name: d, count: 12"), rooms(2, 8, 4))
    counts = {name: list(placed.values()).count(name) for name in "abc"}
    assert counts["b"] > counts["c"] > counts["a"]


def test_a_device_runs_on_a_host_of_its_name_or_label() -> None:
    there = rooms(2, 2, 2)
    there[1] = HostRoom("b", 2, GIB * 8, label="rack")
    scenario = fleet("name: d, count: 4, host: rack", "name: e, host: c", "name: f, host: a")
    placed = place(scenario, there)
    assert {placed[f"d-{number}"] for number in range(4)} == {"b"}
    assert (placed["e"], placed["f"]) == ("c", "a")


def test_all_devices_that_fit_nowhere_are_named() -> None:
    scenario = fleet("name: d, host: attic", "name: e")
    with pytest.raises(HostError) as told:
        place(scenario, [HostRoom("a", 2, 4 * GIB, label="rack"), HostRoom("b", 2, GIB // 64)])
    first, *others = str(told.value).splitlines()
    assert "the label `emulate.host` 'attic'" in first
    assert "a, b, rack" in first and others == []
    small = [HostRoom("a", 2, GIB // 64), HostRoom("b", 2, GIB // 64)]
    with pytest.raises(HostError, match=r"e: no host has 1.. MiB of memory left for it"):
        place(fleet("name: e"), small)


@given(
    cores=st.lists(st.integers(1, 64), min_size=1, max_size=5),
    count=st.integers(1, 30),
    memory=st.integers(2, 16),
)
def test_no_host_has_more_than_it_can_hold(cores: list[int], count: int, memory: int) -> None:
    scenario, there = fleet(f"name: d, count: {count}"), rooms(*cores, memory=memory * GIB)
    try:
        placed = place(scenario, there)
    except HostError:
        return
    assert placed.keys() == {f"d-{number}" for number in range(count)}
    for room in there:
        assert 100 * 2**20 * list(placed.values()).count(room.name) <= room.memory


def test_a_network_without_a_port_left_takes_no_device() -> None:
    """A port is for the server and one for the evaluator, and with relays one for the relay."""
    small = [HostRoom("a", 2, 64 * GIB, ports=4), HostRoom("b", 64, 64 * GIB, ports=3)]
    placed = place(fleet("name: d, count: 5"), small)
    assert [*placed.values()].count("b") == 3 and [*placed.values()].count("a") == 2
    with pytest.raises(HostError) as told:
        place(fleet("name: d, count: 6"), small)
    assert str(told.value) == (
        "d-5: no host with memory for it has a port left on the run's network"
    )
    relayed = fleet("name: d, count: 5").model_copy(
        update={"server": fleet("name: d").server.model_copy(update={"relay": "host"})}
    )
    with pytest.raises(HostError, match=r"^d-4: no host with memory"):
        place(relayed, small)


def test_a_device_whose_host_is_down_is_told_so() -> None:
    absent = {"attic": "host two is down", "two": "host two is down"}
    scenario = fleet("name: d, host: attic", "name: e, host: two", "name: f, host: cellar")
    with pytest.raises(HostError) as told:
        place(scenario, rooms(2, 2), absent)
    down, named, unknown = str(told.value).splitlines()
    assert down == "d: its host two is down" and named == "e: its host two is down"
    assert unknown.startswith("f: no host of the swarm has the name")
