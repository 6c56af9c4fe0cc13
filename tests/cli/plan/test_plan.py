"""`emulate plan`: the compiled faults as a table, a picture in the terminal, and a figure."""

from pathlib import Path

import pytest

from tests.analysis.drawn_figures import kept, legend
from tests.fakes.typed_commands import Emulate

PLANNED = """\
name: planned
training: {dataset: digits, model: digits-mlp, algorithm: asgd}
stop: {time: 100s}
devices:
  - {name: near, count: %d, failures: [{name: hot, faults: [{kind: crash, per_iteration: 0.5%%}]}]}
  - {name: far}
faults:
  - {kind: crash, nodes: [far], at: 50s}
  - {kind: partition, nodes: [near], at: 10s, lasts: 20s}
  - {kind: pause, nodes: [far], every: 20s, lasts: 1s, between: [0s, 30s]}
"""
DURABLE = "server.durability=update"
FALLS = "\nfaults:\n  - {kind: server-crash, at: 90s, lasts: 10s}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "planned.yaml"
    file.write_text(PLANNED % 2)
    return file


def test_the_time_axis_is_in_the_unit_of_its_ticks(emulate: Emulate, file: Path) -> None:
    out = emulate("plan", file, "--set", "stop.time=2min").out
    axis = next(line for line in out.splitlines() if line.lstrip().startswith("0s"))
    assert axis.split() == [f"{seconds}s" for seconds in range(0, 120, 10)]
    assert "(1s a column" in out


def test_a_plan_is_a_picture_and_tables(emulate: Emulate, file: Path) -> None:
    result = emulate("plan", file)
    assert (result.code, result.err) == (0, "")
    lines = [line.rstrip() for line in result.out.splitlines()]
    assert lines[0] == "planned: 4 faults of 3 devices before 100s, seed 0"
    near = next(line for line in lines if line.startswith("near-0"))
    assert near == "near-0  " + "." * 12 + "P" * 24 + "." * 84
    far = next(line for line in lines if line.startswith("far"))
    assert far == "far     " + "." * 24 + "Aa" + "." * 34 + "C" * 60
    assert "P partition  A pause  C crash  (833ms a column; capital: at least half of it)" in lines
    for row in (
        ["partition", "2", "2", "20", "s", "13.33%"],
        ["crash", "1", "1", "50", "s", "16.67%"],
        ["50.0", "s", "for", "good", "far", "crash"],
        ["near-0", "near-1", "crash", "0.5%", "200", "iterations", "for", "good"],
    ):
        assert any(line.replace(",", "").split() == row for line in lines), row


def test_a_plan_for_scripts(emulate: Emulate, file: Path) -> None:
    result = emulate("plan", file, "--json").json
    assert result["devices"] == ["near-0", "near-1", "far"]
    assert result["end"] == 100.0
    assert result["faults"] == [
        {"at": 10.0, "until": 30.0, "node": "near-0", "fault": "partition"},
        {"at": 10.0, "until": 30.0, "node": "near-1", "fault": "partition"},
        {"at": 20.0, "until": 21.0, "node": "far", "fault": "pause"},
        {"at": 50.0, "until": None, "node": "far", "fault": "crash"},
    ]
    assert result["kinds"][0] == {"fault": "partition", "faults": 2, "devices": 2, "seconds": 40.0}
    assert result["expected"] == [
        {
            "nodes": ["near-0", "near-1"],
            "fault": "crash",
            "per_iteration": 0.005,
            "lasts": None,
            "iterations": 200.0,
        }
    ]


def test_a_plan_can_end_sooner_and_have_another_seed(emulate: Emulate, file: Path) -> None:
    text = file.read_text()
    file.write_text(text.replace("at: 50s", "at: {uniform: [40s, 60s]}"))
    other = emulate("plan", file, "--json", "--seed", "8").json
    assert other["seed"] == 8
    assert other["faults"][-1]["at"] != emulate("plan", file, "--json").json["faults"][-1]["at"]
    sooner = emulate("plan", file, "--json", "--until", "15s").json
    assert (sooner["end"], len(sooner["faults"])) == (15.0, 2)


def test_many_devices_share_rows(emulate: Emulate, file: Path) -> None:
    file.write_text(PLANNED % 199)
    result = emulate("plan", file)
    lines = result.out.splitlines()
    assert sum(line.startswith("near-") for line in lines) == 40 + 1  # and the drawn faults
    assert "5 devices a row" in result.out
    assert "161 more" in result.out  # of 199 + 1 + 1 faults the table has 40
    few = emulate("plan", file, "--set", "faults[1].nodes=[near-7]").out.splitlines()
    row = next(line for line in few if line.startswith("near-5"))
    assert row.split("  ")[-1].strip().startswith("." * 12 + "p" * 24)  # one of five devices


@pytest.mark.slow
def test_a_plan_is_drawn(
    emulate: Emulate, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row for each device, and below them how many devices a fault holds."""
    figures, figure = kept(monkeypatch), tmp_path / "made" / "plan.png"
    result = emulate("plan", file, "--figure", figure)
    assert result.out.endswith(f"figure: {figure}\n")
    devices, struck = figures["plan.png"].axes
    assert [label.get_text() for label in devices.get_yticklabels()] == ["near-0", "near-1", "far"]
    assert legend(devices) == [
        "partition: 2 on 2 devices",
        "pause: 1 on 1 device",
        "crash: 1 on 1 device",
        "crash: drawn, 0.5 % of iterations, 2 devices",
    ]
    (held,) = struck.get_lines()
    assert struck.get_xlabel() == "time (s)"
    assert list(held.get_xdata()) == [0, 10, 20, 21, 30, 50, 100]
    assert list(held.get_ydata()) == [0, 2, 3, 2, 0, 1, 0]


def test_a_file_that_is_no_picture_of_ours_is_kept(
    emulate: Emulate, file: Path, tmp_path: Path
) -> None:
    (tmp_path / "full.png").symlink_to("/dev/full")
    full = emulate("plan", file, "--figure", tmp_path / "full.png")
    assert f"{tmp_path}/full.png is there, and was not drawn by `emulate`" in full.err
    assert full.code == 1
    assert (tmp_path / "full.png").is_symlink()
    wrong = emulate("plan", file, "--figure", tmp_path / "plan.svg")
    assert wrong.code == 2
    assert "must end in .png" in wrong.err


@pytest.mark.parametrize("until", ["0s", "ten", "-1s"])
def test_a_wrong_time_is_refused(emulate: Emulate, file: Path, until: str) -> None:
    result = emulate("plan", file, "--until", until)
    assert result.code == 2
    assert "--until" in result.err


def test_a_scenario_without_faults_has_an_empty_plan(emulate: Emulate, file: Path) -> None:
    result = emulate("plan", file, "--set", "faults=[]", "--set", "devices[0].failures=[]")
    assert "no fault is planned" in result.out


def test_batteries_stand_beside_the_plan(emulate: Emulate, file: Path) -> None:
    charged = "recharge: [{begin: 22h, end: 6h, power: 2W}]"
    battery = f"faults=[{{kind: energy, nodes: [far], capacity: 10Wh, idle: 1W, {charged}}}]"
    given = ("--set", battery, "--set", "devices[0].failures=[]")
    result = emulate("plan", file, *given)
    row = next(line for line in result.out.splitlines() if line.startswith("far"))
    assert row.split() == ["far", "10Wh", "10", "h", "16Wh"]
    (plain,) = emulate("plan", file, *given, "--json").json["batteries"]
    assert plain == {"nodes": ["far"], "capacity": 36e3, "idles": 36e3, "charged": 57.6e3}


def test_the_server_has_a_row_where_a_fault_strikes_it(emulate: Emulate, file: Path) -> None:
    crash = "faults=[{kind: server-crash, at: 50s, lasts: 10s}]"
    result = emulate("plan", file, "--set", crash, "--set", DURABLE)
    assert result.code == 0
    assert "\nserver  " + "." * 60 + "S" * 12 in result.out
    sums = next(line.split() for line in result.out.splitlines() if line[:12] == "server-crash")
    assert sums == ["server-crash", "1", "server", "10", "s", "10.00%", "of", "the", "server's"]
    (kind,) = emulate("plan", file, "--set", crash, "--set", DURABLE, "--json").json["kinds"]
    assert (kind["devices"], kind["seconds"]) == (0, 10.0)


def test_the_server_shares_no_row_and_no_time_with_devices(emulate: Emulate, file: Path) -> None:
    file.write_text(PLANNED.replace("\nfaults:", FALLS) % 199)
    lines = emulate("plan", file, "--set", DURABLE).out.splitlines()
    assert next(line for line in lines if line.startswith("server ")).endswith("S" * 12)
    assert sum(line.startswith("near-") for line in lines) == 40 + 1  # and the drawn faults
    assert "5 devices a row" in "".join(lines)
    assert next(line for line in lines if line.startswith("partition")).split()[-1] == "19.90%"


def test_mistakes_are_told_as_by_check(emulate: Emulate, file: Path) -> None:
    file.write_text(file.read_text().replace("at: 50s", "att: 50s"))
    result = emulate("plan", file)
    assert result.code == 2
    (line,) = result.err.splitlines()
    assert "planned.yaml:8: faults[0].att: no such key (did you mean 'at'?)" in line


def test_check_and_plan_say_which_trace_a_device_plays(emulate: Emulate, tmp_path: Path) -> None:
    (tmp_path / "homes.json").write_text(
        '{"home-0": {"inactive": [9], "active": [0], "finish_time": 60},'
        ' "x": {"inactive": [5], "active": [0], "finish_time": 60}}'
    )
    file = tmp_path / "homes.yaml"
    file.write_text(
        "name: homes\ntraining: {dataset: digits, model: digits-mlp, algorithm: asgd}\n"
        "stop: {time: 100s}\ndevices: [{name: home, count: 2}]\nvirtual: {step: 1s}\n"
        "faults: [{kind: availability, nodes: all, trace: homes.json, start: 3s}]\n"
    )
    for command in ("check", "plan"):
        words = [" ".join(line.split()) for line in emulate(command, file).out.splitlines()]
        assert "home-0 home-0 3.0 s" in words and "home-1 2 of 2 3.0 s" in words
        found = emulate(command, file, "--json").json["availability"]
        assert found[0] == {"node": "home-0", "trace": "home-0", "start": 3.0}


ROUTED = """\
network:
  routers: [core, east, west]
  links:
    - {between: [east, core], up: {rate: 3mbit}, down: {rate: 8mbit}}
    - {between: [west, east], up: {rate: 1mbit}, down: {delay: 2ms}}
  attach: {near: west, far: east}
  server: core
"""


@pytest.fixture
def routed(file: Path) -> Path:
    text = file.read_text().replace(
        "near, count: 2,", "near, count: 2, link: {up: {rate: 600kbit}},"
    )
    text = text.replace("{kind: pause, nodes: [far],", "{kind: partition, nodes: [west-east],")
    file.write_text(text + ROUTED)
    return file


def test_a_plan_has_the_load_of_each_link(emulate: Emulate, routed: Path) -> None:
    """Both near devices send 500 kbit over the narrow link, and the far device has the rest."""
    lines = [line.split() for line in emulate("plan", routed).out.splitlines()]
    assert ["east-core", "up", "3mbit", "3mbit", "100%"] in lines
    assert ["west-east", "up", "1mbit", "1mbit", "100%"] in lines
    assert ["east-core", "down", "8mbit", "8mbit", "100%"] in lines
    result = emulate("plan", routed, "--json", "--set", "network.links[1].up.rate=2mbit").json
    loads = {
        (each["link"], each["way"]): (each["rate"], each["load"]) for each in result["network"]
    }
    assert loads["west-east", "up"] == (2e6, pytest.approx(1.2e6))
    assert loads["west-east", "down"] == (None, None)
    assert {fault["node"] for fault in result["faults"]} == {"far", "near-0", "near-1"}


@pytest.mark.slow
def test_a_network_is_drawn(
    emulate: Emulate, routed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures, figure = kept(monkeypatch), tmp_path / "network.png"
    result = emulate("plan", routed, "--network", figure)
    assert result.out.endswith(f"figure: {figure}\n")
    graph, _ = figures["network.png"].axes
    texts = {text.get_text() for text in graph.texts}
    assert texts == {"core · server", "east · 1", "west · 2", "100%"}


def test_a_scenario_without_a_network_has_none_to_draw(
    emulate: Emulate, file: Path, tmp_path: Path
) -> None:
    result = emulate("plan", file, "--network", tmp_path / "network.png")
    assert result.code == 2 and "planned has no network" in result.err
    assert "network" not in emulate("plan", file, "--json").json
