"""Links as they were achieved, and the host's shortage of processor time, in a report."""

from pathlib import Path
from typing import Any

import pytest

from analysis import Run
from analysis.facts import host_load, link_fidelity
from analysis.facts.devices import Device
from analysis.figures import host_use, server_traffic
from analysis.figures.scores import accuracy_bytes
from analysis.pages.report import report
from analysis.pictures import drawing
from analysis.tables import device_tables, sections
from tests.fakes.runs.handmade_run import traffic_record, update, written

LINKS = [
    {
        "node": "far",
        "way": "up",
        "rate": {"requested": 8e6, "achieved": 4e6, "busy_s": 3.2, "verdict": "missed"},
        "verdict": "missed",
        "reason": "rate: devices and server were short of processor time for 30% of the time",
    },
    {
        "node": "far",
        "way": "down",
        "rate": {"requested": 2e7, "achieved": None, "busy_s": 0.0, "verdict": "not judged"},
        "delay": {"requested": 0.025, "achieved": 0.0254, "echoes": 90, "verdict": "kept"},
        "jitter": {"requested": 0.003, "achieved": 0.0031, "verdict": "kept"},
        "loss": {"requested": 0.01, "achieved": 0.0125, "packets": 900, "verdict": "kept"},
        "verdict": "kept",
        "reason": "rate not judged: the link was never busy for long enough",
    },
]
DOWN = ("20 → –", "25 → 25.4", "3 → 3.1", "1 → 1.25")
BUSY = [0.3] * 4 + [0.99, 1.0] + [0.85] * 4
SHORT = [False] * 4 + [True, True, False, False, True, False]


def made(folder: Path, *, virtual: bool = False) -> Run:
    """A run with a host that is short from second 4 to 6 and from second 8 to 9."""
    records: list[dict[str, Any]] = [{"at": 0, "what": "start", "devices": 1}]
    for second in range(21):
        records.append(update(float(second), "far", updates=second + 1))
        records.append(traffic_record(float(second), "server", 90_000 * second, 5_000 * second))
    for at in (10.0, 20.0):
        host = {"at": at, "what": "host", "busy": BUSY, "short": SHORT}
        records.append(host if at == 10.0 else {**host, "busy": [0.2] * 10, "short": [False] * 10})
    records.append({"at": 20.5, "what": "stop", "reason": "updates"})
    fidelity = {"kept_up": False, "reasons": ["links missed"], "links": LINKS, "links_unlisted": 3}
    summary = {"runtime": "virtual" if virtual else "docker", "outcome": "success"}
    return written(folder, records, summary={**summary, "fidelity": fidelity})


@pytest.mark.slow
def test_the_table_has_a_row_for_each_direction(tmp_path: Path) -> None:
    run = made(tmp_path)
    assert link_fidelity.link_verdicts(run) == [
        ("bad", "far", "up", "8 → 4", "", "", "", "missed", LINKS[0]["reason"]),
        (
            "",
            "far",
            "down",
            "20 → –",
            "25 → 25.4",
            "3 → 3.1",
            "1 → 1.25",
            "kept, but rate not judged",
            LINKS[1]["reason"],
        ),
    ]
    assert (link_fidelity.missed_links(run), link_fidelity.links_unlisted(run)) == (1, 3)
    page = report(tmp_path).read_text()
    assert "Links: requested → achieved" in page
    assert "3 more directions are left out" in page
    assert "{&#39;node" not in page  # the other table of fidelity leaves the list out


@pytest.mark.mostly_slow
@pytest.mark.parametrize("links", [None, 7, [3, {"node": 4, "rate": "x", "delay": {}}], [{}]])
def test_a_damaged_summary_breaks_no_report(tmp_path: Path, links: Any) -> None:
    summary = {"outcome": "success", "fidelity": {"links": links, "links_unlisted": "x"}}
    run = written(tmp_path, [{"at": 0, "what": "start", "devices": 1}], summary=summary)
    link_fidelity.link_verdicts(run)
    assert link_fidelity.links_unlisted(run) == 0
    report(tmp_path)


def test_the_host_is_short_where_its_records_say_so(tmp_path: Path) -> None:
    assert host_load.short_times(made(tmp_path)) == [(4.0, 6.0), (8.0, 9.0)]


@pytest.mark.parametrize(
    "facts", [{"busy": 3}, {"busy": ["x"]}, {"busy": [1.0], "short": 0}, {"busy": [1.0]}, {}]
)
def test_damaged_records_of_the_load_are_no_band(tmp_path: Path, facts: dict[str, Any]) -> None:
    records = [{"at": 5.0, "what": "host", **facts}, {"at": 6.0, "what": "host", "busy": [0.1]}]
    assert host_load.short_times(written(tmp_path, records)) == []


@pytest.mark.slow
def test_the_bands_lie_over_time_and_nothing_else(tmp_path: Path) -> None:
    run = made(tmp_path)
    table = server_traffic.table([run])
    plain = drawing.render(server_traffic, table)
    marked = drawing._marked(server_traffic, table, [run])
    for before, after in zip(plain.axes, marked.axes, strict=True):
        # a band and a strip for each time
        assert len(after.patches) == len(before.patches) + (4 if after.axison else 0)
        assert after.get_xlim() == before.get_xlim()
    (legend,) = marked.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "devices and server short of processor time"
    ]
    other = drawing._marked(accuracy_bytes, accuracy_bytes.table([run]), [run])
    assert not other.legends


def test_a_server_that_used_its_core_is_marked(tmp_path: Path) -> None:
    """At a dilation of 4 a quarter of a real core is an emulated core."""
    host = {"what": "host", "busy": [0.5] * 4, "server": [0.1, 0.24, 0.25, 0.2], "step": 0.25}
    records = [{"at": 0, "what": "start", "devices": 1}, {"at": 1.0, **host}]
    dilated = written(tmp_path / "4", records, manifest={"dilation": 4})
    assert host_load.server_times(dilated) == [(0.25, 0.75)]
    assert host_load.server_times(written(tmp_path / "1", records)) == []


def on_three_hosts(folder: Path) -> Run:
    """A run with a server's host of half load, an idle one, and one that is short at the end."""
    records: list[dict[str, Any]] = [{"at": 0, "what": "start", "devices": 3}]
    loads = {"near": [0.5] * 4, "idle": [0.1] * 4, "full": [0.3, 0.3, 0.3, 1.0]}
    for late, (host, busy) in enumerate(loads.items()):  # each at a time of its own
        facts = {"busy": busy, "short": [share == 1.0 for share in busy], "host": host}
        facts |= {"server": [0.4] * 4} if host == "near" else {"throttled": [0.2] * 4}
        records.append({"at": 4.0 + 0.3 * late, "what": "host", **facts})
    return written(folder, records, manifest={"hosts": {"near": [], "idle": ["a"], "full": ["b"]}})


def test_one_host_that_is_short_marks_a_run_on_three(tmp_path: Path) -> None:
    run = on_three_hosts(tmp_path)
    assert host_load.short_seconds(run) == (1, 4)  # as the summary: those of the worst host
    assert host_load.short_times(run) == [(pytest.approx(3.6), pytest.approx(4.6))]
    assert {host: len(spans) for host, spans in host_load.short_times_of(run).items()} == {
        "near": 0,
        "idle": 0,
        "full": 1,
    }


def test_a_clock_is_known_to_parts_of_a_millisecond(tmp_path: Path) -> None:
    record = {"at": 4.0, "what": "host", "busy": [0.5], "short": [False], "host": "idle"}
    records = [{**record, "clock_ahead": 0.0, "clock_error": 0.000529}]
    (_, idle) = device_tables.hosts_table(written(tmp_path, records, manifest={"hosts": HOSTS}))
    assert idle[-1] == "0.53 ms"


HOSTS = {"home": ["near"], "idle": ["far-0", "far-1"]}


def test_hosts_have_rows_in_a_run_that_never_began(tmp_path: Path) -> None:
    run = written(tmp_path, [], manifest={"hosts": HOSTS})
    assert device_tables.hosts_table(run) == [
        ("home", "near", "–", "–", "–"),
        ("idle", "far-0, far-1", "–", "–", "–"),
    ]


@pytest.mark.parametrize("hosts", [7, ["near"], {"here": 7}, {"here": [7]}])
def test_a_damaged_entry_on_hosts_breaks_no_table(tmp_path: Path, hosts: Any) -> None:
    device_tables.hosts_table(written(tmp_path, [], manifest={"hosts": hosts}))


def test_each_host_has_a_panel_with_its_load_and_its_bands(tmp_path: Path) -> None:
    run = on_three_hosts(tmp_path)
    table = host_use.table([run])
    figure = drawing._marked(host_use, table, [run])
    drawn = {ax.get_label(): ax for ax in figure.axes if ax.axison}
    assert [*drawn] == ["near", "full", "idle"]
    for host, ax in drawn.items():
        (load, *_) = (each for each in ax.patches if each.get_label() == "cores in use")
        values, edges, _ = load.get_data()
        assert [*values] == [*(100 * table[table["host"] == host]["busy"])]
        assert all(edges[1:] > edges[:-1])
        assert ax.get_ylabel() == f"{host}\n%"
        # beside two lines a band and its strip
        assert len(ax.patches) == (4 if host == "full" else 2)
    (legend,) = drawn["near"].figure.axes[1].get_legend().get_texts()[:1]
    assert legend.get_text() == "cores in use"
    assert len(drawn["near"].get_legend().get_texts()) == 3  # one for each kind on any host


def test_several_runs_have_no_bands(tmp_path: Path) -> None:
    runs = [made(tmp_path / "one"), made(tmp_path / "two")]
    assert not drawing._marked(server_traffic, server_traffic.table(runs), runs).legends


@pytest.mark.slow
def test_virtual_time_says_that_every_link_is_exact(tmp_path: Path) -> None:
    page = report(made(tmp_path, virtual=True).folder).read_text()
    assert "exact" in page


def test_measurements_of_the_host_have_units(tmp_path: Path) -> None:
    run = made(tmp_path)
    run.summary["fidelity"] |= {
        "latest_fault_s": 0.25,
        "host_busy_mean": 0.997,
        "shaping": {"p99": 0.0016},
    }
    rows = dict(sections.fidelity(run))
    assert rows["latest fault"] == "250 ms"
    assert (rows["host busy mean"], rows["shaping: p99"]) == ("99.7 %", "1.6 ms")


def test_a_link_that_changes_is_told_with_its_changes() -> None:
    steps = [{"at": "10s", "rate": "1mbit"}, {"at": "20s", "delay": "80ms", "loss": "1%"}]
    trace = {"file": "evening.csv", "start": "random", "loop": True, "scale": 1.0}
    device = Device("cam", "cam", "", {"rate": "8mbit", "steps": steps}, {"trace": trace})
    assert device.link == (
        "8mbit (from 10s rate 1mbit; from 20s delay 80ms loss 1%) up, "
        "unlimited rate trace evening.csv start random looped down"
    )
