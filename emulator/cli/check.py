"""`emulate check`: what a scenario means, and whether this host can carry it."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import ScenarioError
from .options import FILE, JSON_OPTION, ON, ON_OPTION, SET

if TYPE_CHECKING:
    from ..scenario import Scenario
    from ..scenario.deadlines import StepTime


@click.command(short_help="What would be played, and can this host carry it?")
@FILE
@SET
@ON_OPTION(help="Where `emulate run` would play it.")
@JSON_OPTION
def check(file: Path, overrides: tuple[str, ...], on: str, as_json: bool) -> None:
    """Say what the scenario FILE means, and whether this host can carry it. Starts nothing.

    Shows the resolved devices and links, the faults as compiled from the seed, what all of it
    wants of this host, the keys that a runtime does not keep, and all for which `emulate run` would
    refuse it, but for what only the Docker engine knows: see `emulate doctor`. The exit code is 2
    if the file is wrong, with every mistake and its place, and 1 if this host lacks something.

    In JSON every quantity is a number: times in seconds, rates in bits a second, memory in bytes,
    CPU shares in cores, other shares from 0 to 1; null where there is no rate or no quota. Of a
    file that is wrong it holds nothing but the `mistakes`: `file`, `line`, `place`, `message`.

    \b
    emulate check scenarios/quickstart.yaml
    emulate check scenarios/quickstart.yaml --set 'devices[0].count=40'
    emulate check scenarios/quickstart.yaml --on virtual
    """
    try:
        _check(file, overrides, on, as_json=as_json)
    except ScenarioError as error:
        if not as_json:
            raise
        click.echo(json.dumps({"mistakes": error.mistakes}, indent=2))
        sys.exit(error.exit_code)


def _check(file: Path, overrides: tuple[str, ...], on: str, *, as_json: bool) -> None:
    from ..core.server import GATHERING
    from ..machine.host import Host
    from ..runs.preflight import preflight
    from ..scenario import demand, load, overview, shortfalls
    from ..scenario.deadlines import late_groups
    from ..scenario.demand import HostCapacity as Capacity
    from ..scenario.startup import slow_starts, startup_time
    from ..scenario.unkept import unkept

    scenario, host = load(file, overrides), Host.here()
    shown, wanted = overview(scenario), demand(scenario)
    short = {"docker": shortfalls(wanted, Capacity(host.cores, host.available)), "virtual": []}
    for found in short.values():
        found += late_groups(scenario, _step(scenario))
    short["docker"] += slow_starts(scenario, GATHERING)
    least = startup_time(scenario, host.cores)
    refusals = {one: preflight(scenario, one, host).refusals for one in ON}
    ignored = {one: unkept(scenario, one) for one in ON}
    if as_json:
        content = {
            "mistakes": [],
            **shown.plain(),
            "demand": wanted.plain(),
            "startup": least,
            "host": {**host.plain(), "available": host.available},
            "shortfalls": [one.plain() for one in short["docker"]],
            "refusals": {one: list(map(str, errors)) for one, errors in refusals.items()},
            "not_kept": {one: [key.plain() for key in keys] for one, keys in ignored.items()},
        }
        click.echo(json.dumps(content, indent=2))
    else:
        from .tables import Findings, demand_table, print_world

        findings = {
            one: Findings(
                on=words,
                refused=list(map(str, refusals[one])),
                warned=[str(found) for found in short[one] if not found.fatal],
                unkept=list(map(str, ignored[one])),
            )
            for one, words in ON.items()
        }
        (other,) = ON.keys() - {on}
        table = demand_table(wanted, host, least) if on == "docker" else None
        print_world(scenario, shown, table, findings[on], findings[other])
    sys.exit(max((error.exit_code for error in refusals[on]), default=0))


def _step(scenario: "Scenario") -> "StepTime | None":
    """Return what a mini-batch takes: as the scenario says, or as calibrated on this host."""
    from ..calibration import known
    from ..scenario.deadlines import StepTime

    training, given = scenario.training, scenario.virtual.step
    if given is not None:
        return StepTime(given.mean, "virtual.step")
    found = known(
        training.model,
        training.batch_size,
        training.codec,
        error_feedback=training.error_feedback,
    )
    return None if found is None else StepTime(found.step.mean, "as calibrated on this host")
