"""All places that judge the host agree: records, summary, report, bands, last lines, and `check`.

Each made-up run has samples of the host's load and reports of containers, from which the conductor
makes records. Every later verdict comes from these.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from analysis import Run
from analysis.facts import host_load
from analysis.pages import run_warnings
from analysis.pages.report import report
from analysis.pages.run_warnings import host_verdict, kept_up, warnings
from analysis.tables import sections
from emulator.checks import this_host
from emulator.checks.this_host import tight, too_fast
from emulator.cli.play.run import tell
from emulator.costs.host_dilation import STEPS, CoreDemand
from emulator.log import summary
from emulator.log.lines import line
from emulator.log.records import Record, StartRecord, StopRecord
from emulator.log.summary import RunFacts, summarise
from emulator.machine.host import Load
from emulator.runtimes.docker.host_log import HostLog
from emulator.scenario import loads
from tests.fakes.runs.handmade_run import written

SECONDS, CORES = 40, 2
FLEET = """
name: made-up
training: {dataset: mnist, model: mnist-cnn, codec: dense}
stop: {updates: 100}
devices: [{name: home, count: 200}]
"""


@dataclass(frozen=True)
class World:
    """A host: its load, and what the containers report, in each second."""

    busy: Callable[[int], float]
    evaluator: Callable[[int], float] = lambda second: 0.0
    """Share of the host's cores."""
    waits: float | None = None
    """Share of the time for which devices wait for a core; None: the kernel does not tell."""
    throttled: float = 0.0
    """Share of the time for which the quotas make devices wait."""
    quotas: bool = True
    short: int = 0
    """Seconds in which devices and server are short."""


WORLDS = {
    "an idle host": World(lambda second: 0.4),
    # the evaluator takes what is left, so all cores are busy
    "a busy evaluator": World(lambda second: 1.0, lambda second: 0.45),
    "an evaluator in bursts": World(
        lambda second: 1.0 if second % 10 < 3 else 0.55,
        lambda second: 0.45 if second % 10 < 3 else 0.0,
    ),
    "200 devices without quotas": World(
        lambda second: 0.999, lambda second: 0.01, quotas=False, short=SECONDS
    ),
    "other programs on the host": World(lambda second: 1.0, short=SECONDS),
    "a tenth of the time": World(lambda second: 1.0 if second < 4 else 0.5, short=4),
    "more than a tenth": World(lambda second: 1.0 if second < 5 else 0.5, short=5),
    "devices that wait for each other": World(lambda second: 0.85, waits=0.7, short=SECONDS),
    "devices at their quotas": World(lambda second: 0.85, waits=0.7, throttled=0.6),
    "waits on an idle host": World(lambda second: 0.5, waits=0.9),
}


def records(world: World) -> list[Record]:
    """Return the log of a run on the host `world`, as the conductor of containers writes it."""
    load = Load()
    log = HostLog(load, {"home-0"} if world.quotas else (), cores=CORES)
    found: list[Record] = [StartRecord(0.0, devices=1, zero=0.0)]
    used, now = 0.0, 100.5
    for second in range(SECONDS):
        load.busy.append(world.busy(second))
        load.pressure.append(None)
        spent = [0.3 * now, world.throttled * now]
        for node, use in (("server", [0.1 * now, 0.0]), ("home-0", spent)):
            log.heard(node, now, use if world.waits is None else [*use, world.waits * now])
        # the supervisor's report comes half a second before the sample
        log.heard("evaluator", now, [used, 0.0])
        used += CORES * world.evaluator(second)
        now += 1.0
        if record := log.tick(second + 1.0):
            found.append(record)
    if record := log.tick(float(SECONDS), last=True):
        found.append(record)
    return [*found, StopRecord(float(SECONDS), "time")]


def played(folder: Path, log: list[Record]) -> Run:
    """Return the run with the records `log`, in `folder`."""
    facts: dict[str, Any] = {"scenario": "made-up", "algorithm": "dense", "seed": 1}
    facts |= {
        "runtime": "docker",
        "devices": 1,
        "dense_push": 1,
        "dense_pull": 1,
        "planned": [],
        "targets": [],
    }
    summary = {**summarise(log, RunFacts(**facts)), "left": []}
    return written(folder, [json.loads(line(record)) for record in log], summary=summary)


@pytest.mark.mostly_slow(quick=4)
@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_every_place_gives_the_same_verdict(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = played(tmp_path, records(world))
    short, marked = world.short, world.short > SECONDS / 10
    fidelity = run.summary["fidelity"]
    assert fidelity["host_short"] == short / SECONDS
    assert (fidelity["kept_up"], len(fidelity["reasons"])) == (not marked, marked)

    assert host_load.short_seconds(run) == (short, SECONDS)
    assert sum(end - begin for begin, end in host_load.short_times(run)) == short
    assert kept_up(run) is not marked
    assert host_verdict(run).startswith(
        "The host did not keep up" if marked else "The host kept up"
    )
    assert f"short of processor time in {short} of {SECONDS} seconds" in host_verdict(run)
    assert len(warnings(run)) == marked
    rows = dict(sections.fidelity(run))
    assert rows["kept up"] == ("no" if marked else "yes")
    assert rows["host short"] == f"{short / SECONDS:.1%}".replace("%", " %")

    tell(tmp_path, run.summary)
    assert ("did not keep up" in capsys.readouterr().out) is marked


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a busy evaluator", "200 devices without quotas"])
def test_the_report_says_it_at_the_top(name: str, tmp_path: Path) -> None:
    world = WORLDS[name]
    page = report(played(tmp_path, records(world)).folder).read_text()
    text = " ".join(re.sub(r"<style.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL).split())
    top = text[: text.index("Protocol.")]
    assert f"short of processor time in {world.short} of {SECONDS} seconds" in top
    assert ("the host did not keep up" in top) is (world.short > 0)


@pytest.mark.parametrize(
    "world",
    [each for each in WORLDS.values() if each.waits is None and each.short in (0, SECONDS)],
)
def test_check_forecasts_by_the_same_criterion(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fleet that wants the cores which devices and server used in a run is judged as the run."""
    used = sum(world.busy(second) - world.evaluator(second) for second in range(SECONDS)) / SECONDS
    wanted = CoreDemand(CORES * used, 0.0, STEPS)
    monkeypatch.setattr(this_host, "core_demand", lambda scenario: wanted)
    fleet = loads(FLEET)
    assert len(too_fast(fleet, CORES)) == (world.short > 0)
    assert not tight(fleet, CORES)


def test_a_fault_is_late_in_the_summary_and_in_the_report_from_the_same_delay_on() -> None:
    assert run_warnings.TIMELY == summary.TIMELY
