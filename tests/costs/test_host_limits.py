"""Tables of a host that run out as a fleet grows: each is named before a run, with its remedy."""

import json
import resource
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from emulator.checks.preflight import preflight
from emulator.checks.this_host import full_tables
from emulator.cli.prepare import doctor
from emulator.costs.host_limits import (
    CHECKED,
    FILES,
    NEIGHBOURS,
    READ,
    HostLimit,
    Need,
    host_limits,
    tables_of,
)
from emulator.machine import kernel_tables
from emulator.machine.host import Host
from emulator.machine.kernel_tables import Supply
from emulator.scenario import Scenario, cores_and_memory, demand
from emulator.scenario.cores_and_memory import bridges
from tests.fakes.fleets import fleet
from tests.fakes.small_scenario import small
from tests.fakes.typed_commands import Emulate, scenario

HOST = {
    "sys/net/ipv4/neigh/default/gc_thresh3": "1024\n",
    "net/stat/arp_cache": "entries  allocs\n0000001f 00000b8a\n0000001f 00000a33\n",
    "sys/kernel/pid_max": "32768\n",
    "sys/kernel/threads-max": "192731\n",
    "loadavg": "0.20 0.18 0.12 1/80 11206\n",
    "sys/net/netfilter/nf_conntrack_max": "262144\n",
    "sys/net/netfilter/nf_conntrack_count": "12\n",
    "7/comm": "dockerd\n",
    "7/limits": "Limit     Soft Limit   Hard Limit   Units\n"
    "Max open files            20000                524288               files     \n",
    "7/fd/0": "",
    "8/comm": "bash\n",
}
"""Files of a made-up /proc."""

Proc = Callable[..., None]


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Proc:
    """Returns a function that makes a /proc of `HOST` with changes; None leaves a file out."""

    def make(**changed: str | None) -> None:
        named = {name.replace("/", "_").replace("-", "_"): name for name in HOST}
        files = HOST | {named[key]: text for key, text in changed.items()}
        for name, text in files.items():
            if text is not None:
                path = tmp_path / "proc" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)

    monkeypatch.setattr(kernel_tables, "PROC", tmp_path / "proc")
    monkeypatch.setattr(resource, "getrlimit", lambda which: (256, 4096))
    return make


def devices(count: int) -> Scenario:
    return fleet(f"devices: [{{name: home, count: {count}}}]")


# -- reading ---------------------------------------------------------------------------------------


def test_the_tables_of_a_host_are_read(proc: Proc) -> None:
    proc()
    assert {limit.need.name: limit.supply for limit in host_limits()} == {
        "neighbours": Supply(1024, 31, "net.ipv4.neigh.default.gc_thresh3"),
        "files": Supply(4096),
        "tasks": Supply(32768, 80, "kernel.pid_max"),
        "engine-files": Supply(20000, 1),
        "connections": Supply(262144, 12, "net.netfilter.nf_conntrack_max"),
    }


def test_the_tighter_limit_of_tasks_counts(proc: Proc) -> None:
    proc(sys_kernel_threads_max="9000\n")
    assert kernel_tables.tasks() == Supply(9000, 80, "kernel.threads-max")


def test_tables_that_cannot_be_read_are_left_out(proc: Proc) -> None:
    """A container does not show the table of neighbours, and macOS shows none."""
    assert [limit.need for limit in host_limits()] == [FILES]


def test_of_several_engines_no_files_are_known(proc: Proc) -> None:
    proc(**{"8_comm": "dockerd\n"})
    assert kernel_tables.engine_files() is None


# -- what is short ---------------------------------------------------------------------------------

SHORT = [
    (
        {"sys_net_ipv4_neigh_default_gc_thresh3": "120\n"},
        100,
        ("neighbours", "warning"),
        "needs 102 entries of the kernel's table of neighbours, and this host has 120 (31 of them "
        "in use): as root, `sysctl -w net.ipv4.neigh.default.gc_thresh3=256`",
    ),
    (
        {"sys_net_ipv4_neigh_default_gc_thresh3": "101\n"},
        100,
        ("neighbours", "error"),
        "`sysctl -w net.ipv4.neigh.default.gc_thresh3=256`",
    ),
    (
        {},
        1400,
        ("files", "error"),
        "needs 4,273 open files of the process that conducts a run, and this host has 4,096: raise "
        "its hard limit (`ulimit -Hn 8192` as root",
    ),
    (
        {"sys_kernel_pid_max": "2048\n"},
        100,
        ("tasks", "warning"),
        "needs about 2,042 tasks of the kernel, which are threads, and this host has 2,048 (80 of "
        "them in use): as root, `sysctl -w kernel.pid_max=4096`",
    ),
    (
        {"7_limits": "Max open files   1024   1024   files\n"},
        100,
        ("engine-files", "warning"),
        "`LimitNOFILE=2048` of its service",
    ),
    (
        {"sys_net_netfilter_nf_conntrack_max": "100\n"},
        100,
        ("connections", "warning"),
        "`sysctl -w net.netfilter.nf_conntrack_max=128`",
    ),
]


@pytest.mark.parametrize(
    ("changed", "count", "place", "words"), SHORT, ids=[" ".join(row[2]) for row in SHORT]
)
def test_each_table_is_named_before_it_runs_out(
    proc: Proc, changed: dict[str, str], count: int, place: tuple[str, ...], words: str
) -> None:
    proc(**changed)
    played = devices(count)
    found = {each.place: each for each in full_tables([tables_of(played)])}
    name, severity = place
    assert (found[name].severity, words in found[name].text) == (severity, True), found[name].text
    assert found[name].text.startswith(f"{name}: the run needs ")


@pytest.mark.parametrize("need", [need for need, _ in READ], ids=lambda need: need.name)
def test_the_number_that_a_limit_carries_fits_and_one_more_does_not(proc: Proc, need: Need) -> None:
    proc()
    (limit,) = (each for each in host_limits() if each.need is need)
    assert limit.devices > 0
    assert not limit.shortage(limit.devices)
    assert limit.shortage(limit.devices + 1).endswith(limit.remedy(limit.devices + 1))


def test_the_remedy_is_enough(proc: Proc) -> None:
    proc()
    (limit,) = (each for each in host_limits() if each.need is NEIGHBOURS)
    assert "gc_thresh3=2048`" in limit.remedy(2015)
    raised = HostLimit(NEIGHBOURS, replace(limit.supply, limit=2048))
    assert not raised.shortage(2015)
    assert "gc_thresh3=4096`" in limit.remedy(2016)


STREET = "bottlenecks: [{name: street, up: {rate: 1gbit}, members: [home]}]"


def test_a_bottleneck_takes_a_second_neighbour_for_each_member_and_one_bridge(proc: Proc) -> None:
    proc()
    behind = fleet("devices: [{name: home, count: 1030}]", STREET)
    found = {each.place: each for each in full_tables([tables_of(behind)])}
    assert found["ports"].severity == "error"
    assert (
        "needs 1,033 ports of one bridge, and this host has 1,023: leave out" in found["ports"].text
    )
    assert "needs 2,066 entries" in found["neighbours"].text
    free = devices(1030)
    found = {each.place: each for each in full_tables([tables_of(free)])}
    assert found.keys() == {"neighbours"}
    assert "needs 1,032 entries" in found["neighbours"].text


def test_a_run_is_refused_before_it_begins(proc: Proc) -> None:
    proc(sys_net_ipv4_neigh_default_gc_thresh3="16\n")
    host = Host("here", 64, 64 << 30, 64 << 30, "6.18")
    refused = preflight(devices(20), "docker", host, lambda played: None).refusals
    assert any(str(each).startswith("neighbours: the run needs 22 entries") for each in refused)


# -- bridges ---------------------------------------------------------------------------------------


def test_a_bridge_has_the_server_and_as_many_others_as_it_has_ports_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cores_and_memory, "PORTS", 3)
    found = bridges(small())  # three devices and the evaluator
    assert [*found.values()] == [0, 0, 1, 1]
    assert found["evaluator"] == 0 and "server" not in found
    assert demand(small()).bridges == 2
    assert set(bridges(fleet("devices: [{name: home, count: 9}]", STREET)).values()) == {0}


# -- commands --------------------------------------------------------------------------------------


def test_check_names_what_runs_out(
    emulate: Emulate, tmp_path: Path, data: None, proc: Proc
) -> None:
    proc(sys_net_ipv4_neigh_default_gc_thresh3="34\n")
    file = scenario(tmp_path)
    said = emulate("check", file)
    assert said.code == 0
    assert "neighbours: the run needs 6 entries of the kernel's table of neighbours" in " ".join(
        said.out.split()
    )
    found = emulate("check", "--json", file).json
    rows = {row.pop("name"): row for row in found["limits"]}
    assert rows["neighbours"] == {"needed": 6, "limit": 34, "used": 31, "devices": 1}
    assert rows.keys() == {need.name for need in CHECKED}
    assert [each["place"] for each in found["shortfalls"]] == ["neighbours"]
    proc(sys_net_ipv4_neigh_default_gc_thresh3="5\n")
    said = emulate("check", file)
    assert said.code == 1
    assert "error neighbours: the run needs 6 entries" in said.out


def test_the_doctor_says_which_limit_gives_way_first(proc: Proc) -> None:
    proc()
    host = Host("here", 64, 64 << 30, 64 << 30, "6.18")
    found = doctor.capacity(host, host_limits())
    assert [row.devices for row in found] == sorted(row.devices or 0 for row in found)
    first, second, *_ = found
    assert first.found == (
        "991 devices by neighbours, which gives way first: 1 each of entries of the kernel's table "
        "of neighbours, of which there are 1,024 (31 of them in use)"
    )
    assert "sysctl -w net.ipv4.neigh.default.gc_thresh3=2048" in first.remedy
    rows = {row.found.split(" by ")[1].split(":")[0].split(",")[0]: row for row in found}
    assert not rows["memory"].remedy and not rows["connections"].remedy
    assert json.dumps([row.plain() for row in found])
    assert second.ok and second.optional


def test_a_host_that_carries_no_device_is_noted(proc: Proc) -> None:
    proc(sys_kernel_pid_max="100\n")
    first, *_ = doctor.capacity(Host("here", 2, 64 << 30, 64 << 30, "6.18"), host_limits())
    assert (first.ok, first.devices) == (False, 0)
    assert "sysctl -w kernel.pid_max=" in first.remedy
