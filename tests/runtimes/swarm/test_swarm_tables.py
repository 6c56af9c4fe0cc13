"""Each host's tables are judged by the devices that are placed there."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from emulator.checks.preflight import preflight
from emulator.checks.this_host import full_tables
from emulator.costs.host_limits import READ, HostTables
from emulator.errors import DeploymentError, HostError
from emulator.machine import kernel_tables
from emulator.machine.host import Host
from emulator.runtimes.swarm import play_swarm
from emulator.runtimes.swarm.agent import Hands
from emulator.runtimes.swarm.swarm_tables import home_tables, tables_there, unknown_tables
from emulator.scenario import Scenario, loads
from emulator.transport.tunnel.conductor_end import TunnelError
from tests.fakes.fleets import fleet

NEIGHBOURS = "sys/net/ipv4/neigh/default/gc_thresh3"
PROC = {
    NEIGHBOURS: "1024\n",
    "net/stat/arp_cache": "entries  allocs\n00000000 00000b8a\n",
    "sys/kernel/pid_max": "4194304\n",
    "sys/kernel/threads-max": "4194304\n",
    "loadavg": "0.20 0.18 0.12 1/80 11206\n",
}


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of the kernel, of this machine and of the other hosts."""
    for name, text in PROC.items():
        file = tmp_path / "proc" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.setattr(kernel_tables, "PROC", tmp_path / "proc")
    monkeypatch.setattr(kernel_tables.resource, "getrlimit", lambda name: (1024, 1 << 20))
    return tmp_path / "proc"


def far(tmp_path: Path, answer: Any = None) -> Any:
    """A host whose agent is in this process, or gives that `answer`."""
    hands = Hands(tmp_path)

    def ask(what: str) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer or hands.answer(what, {}, b"")

    return SimpleNamespace(name="far", cores=2, tunnel=SimpleNamespace(ask=ask))


def devices(count: int, more: str = "") -> Scenario:
    return fleet(f"devices: [{{name: d, count: {count}}}]", more)


def placed(here: int, there: int, elsewhere: int = 0) -> dict[str, list[str]]:
    names = iter(f"d-{number}" for number in range(here + there + elsewhere))
    counts = {"near": here, "far": there, "other": elsewhere}
    return {host: [next(names) for _ in range(count)] for host, count in counts.items()}


def needed(tables: HostTables, name: str) -> int:
    (limit,) = (each for each in tables.limits if each.need.name == name)
    return limit.needed(tables.devices, tables.others)


def test_an_agent_reads_the_tables_that_all_processes_of_its_host_share() -> None:
    assert {*kernel_tables.READABLE} == {need.name for need, _ in READ} - {"files"}


@pytest.mark.usefixtures("proc")
def test_a_fleet_that_no_host_carries_alone_fits_on_several(tmp_path: Path) -> None:
    """With 400 devices a host the table of this one carries the server's entries for all."""
    scenario, own = devices(900), placed(100, 400, 400)
    home = home_tables(scenario, own)
    # the server's entries for 900 devices, those of 100 devices, and both for the evaluator
    assert needed(home, "neighbours") == 100 * 2 + 800 + 2 * 2
    assert needed(home, "ports") == 102 and needed(home, "files") > 3 * 900
    there = tables_there(scenario, own["far"], far(tmp_path))
    assert needed(there, "neighbours") == 400 and needed(there, "ports") == 400
    assert not [each for each in full_tables([home, there]) if each.severity == "error"]
    alone = [each.place for each in full_tables([home_tables(scenario, placed(900, 0))])]
    assert alone == ["neighbours"]


@pytest.mark.usefixtures("proc")
def test_with_relays_the_server_has_an_entry_for_each_of_them(tmp_path: Path) -> None:
    scenario, own = devices(900, "server: {relay: host}"), placed(100, 400, 400)
    assert needed(home_tables(scenario, own), "neighbours") == 100 * 2 + 2 + 2 * 2
    there = tables_there(scenario, own["far"], far(tmp_path))
    assert needed(there, "neighbours") == 2 * 400 + 1 and needed(there, "ports") == 401


def test_a_full_table_of_another_host_is_named_with_the_host(proc: Path, tmp_path: Path) -> None:
    scenario, own = devices(40), placed(0, 40)
    (proc / NEIGHBOURS).write_text("16\n")
    found = {
        each.place: each
        for each in full_tables([tables_there(scenario, own["far"], far(tmp_path))])
    }
    assert found["neighbours"].fatal
    assert found["neighbours"].text.startswith(
        "neighbours: the part of the run at host far needs 40 entries of the kernel's table of "
        "neighbours, and that host has 16: as root, `sysctl -w net.ipv4.neigh.default.gc_thresh3="
    )
    told = list[str]()
    with pytest.raises(HostError, match="at host far needs 40 entries"):
        play_swarm._judge([tables_there(scenario, own["far"], far(tmp_path))], told.append)
    assert told == [found["hosts"].text]  # the agent sees no engine's process, and no conntrack
    assert "cannot read there: engine-files, connections" in told[0]


def test_a_table_that_cannot_be_read_is_said_and_not_judged(proc: Path, tmp_path: Path) -> None:
    (proc / NEIGHBOURS).unlink()
    there = tables_there(devices(4), ["d-0"], far(tmp_path))
    assert "neighbours" not in {limit.need.name for limit in there.limits}
    (note,) = (each for each in full_tables([there]) if each.severity == "note")
    assert note.text.startswith("host far: not judged: its agent cannot read there: neighbours")
    silent = tables_there(devices(4), ["d-0"], far(tmp_path, TunnelError("no answer within 10 s")))
    (note,) = full_tables([silent])
    assert note.text == "host far: not judged: its agent does not answer: no answer within 10 s"
    assert silent == unknown_tables("far", 1, "no answer within 10 s")


@pytest.mark.parametrize(
    "answer",
    [
        {"tables": {}},
        {"memory": "much", "tables": {}},
        {"memory": 1, "tables": {"tasks": [1, 2]}},
        {"memory": 1, "tables": {"tasks": "full"}},
        {"memory": 1, "tables": 7},
    ],
    ids=str,
)
def test_an_answer_that_is_none_names_the_host(tmp_path: Path, answer: Any) -> None:
    with pytest.raises(DeploymentError, match="the agent of far answers wrongly"):
        tables_there(devices(4), ["d-0"], far(tmp_path, answer))


@pytest.mark.usefixtures("proc")
def test_a_host_with_little_free_memory_is_named(tmp_path: Path) -> None:
    answer = {"memory": 1 << 30, "tables": {}}
    found = full_tables([tables_there(devices(8), ["d-0"] * 8, far(tmp_path, answer))])
    (short,) = (each for each in found if each.place == "memory")
    assert short.severity == "warning"
    assert "at host far needs about 1,652 MiB" in short.text and "free some memory" in short.text


QUOTAS = """
name: quotas
training: {dataset: digits, model: digits-mlp, algorithm: asgd}
stop: {updates: 10}
devices: [{name: d, count: 6, profile: {cpu: 50%, memory: 512MiB}}]
"""


@pytest.mark.usefixtures("proc")
def test_the_quotas_at_a_host_are_compared_with_its_own_cores(tmp_path: Path) -> None:
    """Six half cores fit on the four of both hosts, and not on the two of one."""
    scenario, own = loads(QUOTAS), placed(0, 6)
    there = tables_there(scenario, own["far"], far(tmp_path))
    (cpu,) = (each for each in full_tables([there]) if each.place == "cpu")
    assert "at host far add up to 3 cores, 1.5 times the 2 cores of that host" in cpu.text
    spread = tables_there(scenario, ["d-0", "d-1"], far(tmp_path))
    assert "cpu" not in {each.place for each in full_tables([spread])}
    host = Host("near", 2, 64 << 30, 64 << 30, "6.18")
    texts = {
        several: [
            each.text
            for each in preflight(
                scenario, "docker", host, tables=[there] if several else None
            ).findings
            if each.place == "cpu"
        ]
        for several in (False, True)
    }
    assert texts[True] == [cpu.text] and "cores of this host" in texts[False][0]
