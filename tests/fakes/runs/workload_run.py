"""The folder of a run of a workload, with made-up records of 30 seconds."""

from collections.abc import Iterator
from pathlib import Path

from emulator.log.lines import line
from emulator.log.records import (
    KINDS,
    MetricRecord,
    Record,
    StartRecord,
    StopRecord,
    TrafficRecord,
)
from emulator.machine.host import Host
from emulator.runs.folder import create
from emulator.runs.session import Session
from emulator.scenario import Scenario
from emulator.scenario.timeline.compiled import timeline

SECONDS = 30
"""Seconds of the run."""


def records(scenario: Scenario) -> Iterator[Record]:
    """Yield records of a run of `scenario`: an accuracy of the server each second, from 0 to 1 - 1
    / SECONDS, and of each device 100 kB a second up, and 200 kB down."""
    names = [device.name for device in scenario.nodes]
    yield StartRecord(0.0, len(names), 100.0)
    for second in range(SECONDS):
        at, size = float(second), 100_000 * second
        for name in names:
            yield TrafficRecord(at, name, 2 * size, size)
        yield TrafficRecord(at, "server", size * len(names), 2 * size * len(names))
        accuracy = second / SECONDS
        yield MetricRecord(at + 0.5, "server", {"accuracy": accuracy, "loss": 1 - accuracy})
        yield MetricRecord(at + 0.25, names[0], {"took": 0.1})
        for timed in timeline(scenario):
            if int(timed.at) == second:
                facts = {"node": timed.action.node, "fault": timed.action.fault}
                more = {"begins": timed.action.begins, "planned": timed.at}
                yield KINDS[timed.record.verb](timed.at, **facts, **more)  # type: ignore[call-arg]
    yield StopRecord(float(SECONDS), "driver", "the program of the driver ended")


def workload_run(scenario: Scenario, runs: Path) -> tuple[Path, dict[str, object]]:
    """Write the folder of a run of `scenario` into `runs`; return the folder and the summary."""
    planned = tuple(timeline(scenario))
    session = Session(scenario, planned, create(scenario.name, runs), "docker")
    with session:
        with session.playing():
            session.describe(Host("made up", 2, 1 << 33, 1 << 33, "6.1"), ("docker",))
            lines = map(line, records(scenario))
            session.folder.records.write_bytes(b"".join(lines))
        session.conclude(records(scenario))
    return session.folder.path, session.summary
