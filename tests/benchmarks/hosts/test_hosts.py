"""The arithmetic of docs/scale.md, the page's tables, and the smallest tunnel; no containers."""

from dataclasses import replace

import pytest

from tests.benchmarks.hosts import fleet_costs, on_paper, tunnel_costs
from tests.layers import ROOT

PAGE = ROOT / "docs" / "scale.md"
ROUND = {
    "updates_per_device_second": 0.1,
    "worker_ms": 4.0,
    "supervisor_ms": 6.0,
    "box_ms": 5.0,
    "conductor_thread_ms": 0.5,
    "start_ms": 30.0,
    "server_thread_ms": 0.25,
    "down_bytes": 125_000.0,
    "update_log_bytes": 300.0,
    "second_log_bytes": 70.0,
    "read_log_mb": 100.0,
    "hello_ms": 1.0,
}
"""Made-up costs that divide without a rest."""


def carried(**costs: float) -> dict[str, int]:
    known = on_paper.limits({**ROUND, **costs}, on_paper.HostSize())
    return {limit.name: limit.devices for limit in known}


def test_each_limit_is_what_there_is_over_what_a_device_takes() -> None:
    found = carried()
    assert found["cores"] == 1600  # 16 cores, 10 ms each second
    assert found["packet box (without netem)"] == 200
    assert found["conductor's thread"] == 2000
    assert found["server's network"] == 10_000  # 10 Gbit/s, 1 Mbit/s each
    assert found["server's busiest thread"] == 4000
    assert found["reading the log"] == 1_000_000  # 100 MB a second, 100 bytes each
    assert found["hellos at once"] == 120_000
    assert found["bridge ports"] == found["neighbours on the server's host"] == 1022


@pytest.mark.parametrize(
    ("cost", "name"),
    [
        ("supervisor_ms", "cores"),
        ("conductor_thread_ms", "conductor's thread"),
        ("down_bytes", "server's network"),
        ("server_thread_ms", "server's busiest thread"),
        ("update_log_bytes", "reading the log"),
        ("hello_ms", "hellos at once"),
    ],
)
def test_a_higher_cost_lowers_its_limit_alone(cost: str, name: str) -> None:
    before, after = carried(), carried(**{cost: 2 * ROUND[cost]})
    assert {each for each in before if after[each] != before[each]} == {name}
    assert after[name] < before[name]


def test_hosts_are_as_many_as_their_first_limit_asks_for() -> None:
    size = on_paper.HostSize()
    assert on_paper.hosts(1022, on_paper.limits(ROUND, size)) == 1
    assert on_paper.hosts(1023, on_paper.limits(ROUND, size)) == 2
    small = on_paper.limits(ROUND, replace(size, cores=4))
    assert on_paper.hosts(1600, small) == 4


def test_a_fleet_s_row_has_the_first_limits_without_settings_that_were_raised_before() -> None:
    rows = [*on_paper.tables(ROUND, on_paper.HostSize())]
    thousand, ten_thousand, *_ = (row for row in rows if row.count("|") > 10 and "000 |" in row)
    assert "addresses of the overlay 4 " in thousand.replace(",", " ")
    assert "addresses" not in ten_thousand
    assert "conductor's thread 5" in ten_thousand


def test_the_page_has_the_tables_of_its_own_costs() -> None:
    page = PAGE.read_text().splitlines()
    for line in on_paper.tables(on_paper.MEASURED, on_paper.HostSize()):
        assert line in page, line


def test_counters_are_read_as_a_rate() -> None:
    records = [{"at": 1.0, "tx": 500}, {"at": 2.0, "tx": 900}, {"at": 3.0, "tx": 1500}]
    assert fleet_costs._rate(records, "tx") == 500.0


@pytest.mark.slow
def test_a_small_tunnel_and_a_few_hellos_are_timed() -> None:
    found = tunnel_costs.measure(megabytes=2, questions=3, idle=0.1) | tunnel_costs.hellos(4)
    assert min(found.values()) >= 0
    assert found["question_ms"] > 0 and found["stream_mb"] > 0
    assert found["hello_frames_bytes"] == 17
