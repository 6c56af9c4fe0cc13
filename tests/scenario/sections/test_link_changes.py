"""Steps and traces in a scenario: read, refused with their lines, written back, shown."""

import re
from pathlib import Path
from typing import Any

import pytest

from emulator.errors import ScenarioError
from emulator.scenario import Scenario, load, loads, overview
from emulator.scenario.overview import describe_side
from emulator.scenario.reading.dump import dump
from emulator.scenario.timeouts import answer_timeout
from emulator.units import Fraction, Rate, Seconds
from emulator.world.links.link import Link
from emulator.world.links.link_steps import LinkStep
from tests.fakes.small_scenario import SMALL, in_folder

LOG = "DL_bitrate,UL_bitrate,PINGAVG\n8000,800,40\n0,400,60\n"


def written(up: str = "{}", down: str = "{}", more: str = "") -> str:
    return (
        SMALL.replace("- name: one", f"- name: one\n    link:\n      up: {up}\n      down: {down}")
        + more
    )


def links(text: str, folder: str | Path = ".") -> Link:
    return loads(text, folder=folder).devices[0].link


def refused(text: str, folder: str | Path = ".") -> list[str]:
    with pytest.raises(ScenarioError) as error:
        loads(text, folder=folder)
    return str(error.value).split("\n")


STEPS = "{rate: 8mbit, delay: 20ms, steps: [{at: 10s, rate: 1mbit}, {at: 1min, loss: 5%}]}"


def test_steps_are_read() -> None:
    up = links(written(STEPS)).up
    assert up.steps == (
        LinkStep(at=Seconds(10), rate=Rate(1e6)),
        LinkStep(at=Seconds(60), loss=Fraction(0.05)),
    )
    assert describe_side(up) == "8mbit 20ms (from 10s rate 1mbit; from 1min loss 5%)"


def test_a_trace_is_read_for_its_direction(tmp_path: Path) -> None:
    """Rate and delay of the sides are the trace's means, halves of the pings being one-way."""
    (tmp_path / "walk.csv").write_text(LOG)
    trace = "{trace: {file: walk.csv}}"
    link = links(written(trace, trace), tmp_path)
    assert link.up.trace is not None and link.down.trace is not None
    assert link.up.trace.samples == "0 800000 0.02, 1 400000 0.03, end 2"
    assert link.down.trace.samples == "0 8000000 0.02, 1 0 0.03, end 2"
    assert (link.up.rate, link.up.delay) == (600e3, 0.025)
    assert (link.down.rate, link.down.delay) == (4e6, 0.025)


def test_own_keys_stay_beside_a_trace(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("0 1\n1 2\n")
    side = "{rate: 5mbit, delay: 10ms, trace: {file: t, scale: 2, loop: false, start: 500ms}}"
    up = links(written(side), tmp_path).up
    assert (up.rate, up.delay) == (5e6, 0.01)
    assert describe_side(up) == (
        "5mbit 10ms trace t of 2s from 500ms (mean 3mbit, p5 2mbit, p95 4mbit, 0.0% outage)"
    )


def test_a_preset_names_its_trace_beside_itself(tmp_path: Path) -> None:
    files = {
        "own.yaml": SMALL.replace("- name: one", "- {name: one, link: moving}"),
        "profiles/links/moving.yaml": "down: {trace: {file: ../traces/a.txt, start: random}}",
        "profiles/traces/a.txt": "0 1\n1 3\n",
    }
    down = load(in_folder(tmp_path, files)).devices[0].link.down
    assert down.rate == 2e6
    assert down.trace is not None and down.trace.start.random


def test_a_resolved_scenario_needs_no_trace_file(tmp_path: Path) -> None:
    (tmp_path / "walk.csv").write_text(LOG)
    trace = "{trace: {file: walk.csv, start: random, scale: 0.5, loop: false}}"
    scenario = loads(written(trace, STEPS), folder=tmp_path)
    again = loads(dump(scenario), folder=tmp_path / "elsewhere")
    assert again == scenario


def test_the_overview_has_statistics_and_no_samples(tmp_path: Path) -> None:
    (tmp_path / "walk.csv").write_text(LOG)
    scenario = loads(written("{trace: {file: walk.csv}}", STEPS), folder=tmp_path)
    plain: dict[str, Any] = overview(scenario).plain()["devices"][0]
    assert plain["down"]["steps"] == [{"at": 10.0, "rate": 1e6}, {"at": 60.0, "loss": 0.05}]
    trace = plain["up"]["trace"]
    assert (trace["file"], trace["duration"], trace["rate"]["mean"]) == ("walk.csv", 2.0, 600e3)
    assert "samples" not in trace or trace["samples"] == 2


MISTAKES = [
    ("{steps: [{at: 5s}]}", "steps[0]: changes nothing: give `rate`, `delay`, `jitter` or `loss`"),
    ("{steps: [{rate: 1mbit}]}", "steps[0].at: is missing"),
    ("{steps: [{at: 5, rate: 1mbit}]}", "steps[0].at: 5 has no unit"),
    ("{steps: [{at: 5s, rate: 0mbit}]}", "steps[0].rate: '0mbit': a rate is above zero"),
    ("{steps: [{at: 5s, speed: 1mbit}]}", "steps[0].speed: no such key"),
    (
        "{steps: [{at: 5s, loss: 1%}, {at: 5s, loss: 2%}]}",
        "steps[1].at: 5s does not follow 5s: steps stand in increasing time",
    ),
    ("{steps: [{at: 5s, jitter: 1s}]}", "steps[0]: jitter 1s is above its delay 0s"),
    ("{steps: [{at: 5s, rate: 1mbit}], trace: {file: t}}", "trace: either `steps` or `trace`"),
    ("{trace: {}}", "trace: names no trace: give `file`"),
    ("{trace: {file: gone}}", "trace.file: "),
    ("{trace: {file: t, format: pcap}}", "trace.format: 'pcap' is not auto or mahimahi or csv"),
    ("{trace: {file: t, scale: 0}}", "trace.scale: 0.0 is not a factor above zero"),
    ("{trace: {file: t, start: soon}}", "trace.start: 'soon' is not a number in us or ms"),
    ("{trace: {file: t, loop: 3}}", "trace.loop: 3 is not true or false"),
    ("{trace: {samples: '0 1'}}", "trace.samples: entry 1 of the trace, '0 1': is not the last"),
]


@pytest.mark.parametrize(("side", "message"), MISTAKES)
def test_a_mistake_has_its_place(tmp_path: Path, side: str, message: str) -> None:
    (tmp_path / "t").write_text("0 1\n")
    (line,) = refused(written(side), tmp_path)
    assert line.startswith(f"scenario:10: devices[0].link.up.{message}")


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("0 1\n1 -3\n")
    (tmp_path / "empty").write_text("")
    up = "{trace: {file: bad}}"
    down = "{trace: {file: empty}, jitter: 1s}"
    assert refused(written(up, down, "\nspeed: 1\n"), tmp_path) == [
        "scenario:14: speed: no such key here: there is faults[0].speed (kind: availability)",
        f"{tmp_path}/bad:2: -3 Mbit/s is negative: expected seconds and Mbit/s, as `12.5 3.2` "
        "(named by scenario:10: devices[0].link.up.trace.file)",
        f"{tmp_path}/empty: the trace is empty: expected at least one line of numbers "
        "(named by scenario:11: devices[0].link.down.trace.file)",
    ]


def test_a_malformed_key_hides_no_other_mistake_of_its_side(tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("seconds,rate\n0,1mbit\n1,oops\n2,-3mbit\n3,1mbit\n2,1mbit\n")
    up = (
        "{rate: oops, delay: 5ms, jitter: 9ms, loss: 1%, loss_model: {gemodel: {p: 1%, r: 9%}}, "
        "steps: [{at: 5s, rate: 1mbit}, {at: 3s, rate: 2mbit}]}"
    )
    found = refused(written(up, "{delay: oops, trace: {file: gone, format: pcap}}"), tmp_path)
    assert [line.split(": ")[1].removeprefix("devices[0].link.") for line in found] == [
        "up.rate",
        "up",  # jitter above its delay
        "up.loss_model",
        "up.steps[1].at",
        "down.trace.file",
        "down.delay",
        "down.trace.format",
    ]
    found = refused(written("{trace: {file: bad}, loop: 1}"), tmp_path)
    assert [line.split(" ")[0] for line in found[1:]] == [f"{tmp_path}/bad:{n}:" for n in (3, 4, 6)]


def test_a_key_is_not_refused_for_a_malformed_one_that_it_needs() -> None:
    """Only the malformed values are named: no rate, delay or jitter is said to be missing."""
    up = (
        "{rate: x, delay: y, jitter: 9ms, distribution: pareto, overhead: 8, reorder: 1%, gap: 2, "
        "steps: [{at: 1s, jitter: 8ms}]}"
    )
    found = refused(written(up, "{delay: 9ms, jitter: z, correlation: 5%}"))
    assert [line.split(": ")[1][-5:] for line in found] == [".rate", "delay", "itter"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (
            SMALL + "server: {link: {up: {steps: [{at: 1s, rate: 1mbit}]}}}\n",
            "server.link.up.steps",
        ),
        (
            SMALL
            + "faults: [{kind: degrade, nodes: [one], at: 1s, link: {down: {trace: {file: x}}}}]\n",
            "faults[0].link.down.trace",
        ),
    ],
)
def test_links_that_cannot_change(text: str, place: str) -> None:
    lines = refused(text)
    assert f"{place}: this link cannot change: give the key to a device's link" in lines[0]


def test_a_timeout_waits_for_the_end_of_an_outage() -> None:
    """A trace with 100 s of silence: the time-out reaches beyond it, and is no matter of hours."""
    side = "{trace: {samples: '0 8000000, 100 0, end 200'}}"
    scenario: Scenario = loads(written(side))
    timeout = answer_timeout(scenario, scenario.devices[0].link, 10_000)
    assert 4 * 100 < timeout < 4 * 300


@pytest.mark.parametrize(
    "samples", ["5", "[a]", "{}", "true", "2026-01-01", "'0 1_0, end 1'", "[[0, 1]]"]
)
def test_samples_that_are_no_trace_are_named(samples: str, tmp_path: Path) -> None:
    (tmp_path / "t").write_text("0 1\n")
    side = f"{{trace: {{file: t, samples: {samples}}}}}"
    (line,) = refused(written(side), tmp_path)
    assert "link.up.trace.samples: " in line


def test_a_nul_in_a_text_is_named_with_its_line(tmp_path: Path) -> None:
    """No path has one: the kernel would refuse it."""
    text = written('{trace: {file: "t.csv\\0"}}').replace(
        "dataset: digits", 'dataset: "x/\\0"\n  initial: "\\0.npz"'
    )
    places = ["training.dataset", "training.initial", "devices[0].link.up.trace.file"]
    lines = refused(text, tmp_path)
    assert len(lines) == 3, lines
    for place, line in zip(places, lines, strict=True):
        assert re.fullmatch(rf"scenario:\d+: {re.escape(place)}: has a NUL character.*", line)
