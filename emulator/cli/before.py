"""Before a run: `check` the scenario, print the `schema`, see the `doctor`."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import FILE, JSON_OPTION, SET

if TYPE_CHECKING:
    from ..scenario import Scenario
    from ..scenario.deadlines import Step


@click.command(short_help="What would be played, and can this host carry it?")
@FILE
@SET
@JSON_OPTION
def check(file: Path, overrides: tuple[str, ...], as_json: bool) -> None:
    """Say what the scenario FILE means, and whether this host can carry it. Starts nothing.

    Shows the resolved devices and links, the faults as compiled from the seed, and what all of
    it wants of this host. The exit code is 2 if the file is wrong, with every mistake and its
    place, and 1 if the host is too small for it.

    \b
    emulate check scenarios/quickstart.yaml
    emulate check scenarios/quickstart.yaml --set 'devices[0].count=40'
    """
    from ..host import Host
    from ..scenario import demand, load, shortfalls, world
    from ..scenario.deadlines import late
    from ..scenario.demand import Host as Capacity

    scenario, host = load(file, overrides), Host.here()
    shown, wanted = world(scenario), demand(scenario)
    short = shortfalls(wanted, Capacity(host.cores, host.available))
    short += late(scenario, _step(scenario))
    if as_json:
        content = {
            **shown.plain(),
            "demand": wanted.plain(),
            "host": {**host.plain(), "available": host.available},
            "shortfalls": [one.plain() for one in short],
        }
        click.echo(json.dumps(content, indent=2))
    else:
        from .tables import print_world

        print_world(scenario, shown, wanted, host, short)
    sys.exit(1 if any(one.fatal for one in short) else 0)


def _step(scenario: "Scenario") -> "Step | None":
    """Return what a mini-batch takes: as the scenario says, or as calibrated on this host."""
    from ..calibration import known
    from ..scenario.deadlines import Step

    training, given = scenario.training, scenario.virtual.step
    if given is not None:
        return Step(given.mean, "virtual.step")
    found = known(
        training.model,
        training.batch_size,
        training.codec,
        error_feedback=training.error_feedback,
    )
    return None if found is None else Step(found.step.mean, "as calibrated on this host")


@click.command(short_help="The JSON schema of scenario files, for editors.")
def schema() -> None:
    """Print the JSON schema of scenario files, for editors that complete and check as you type.

    For editors with the YAML language server, put
    `# yaml-language-server: $schema=scenario.schema.json` into the scenario.

    \b
    emulate schema > scenario.schema.json
    """
    from ..scenario import schema as describe

    click.echo(json.dumps(describe(), indent=2))


@click.command(short_help="What this machine has of what runs need, and what it lacks.")
@JSON_OPTION
def doctor(as_json: bool) -> None:
    """Say what this machine has of what runs need, and how to get what it lacks.

    Looks at memory, data, the Docker engine, the image, what the kernel can do to packets, and
    what earlier runs have left behind. The exit code is 1 if a run could not be played.
    """
    from ..doctor import examine

    findings = examine()
    if as_json:
        click.echo(json.dumps([finding.plain() for finding in findings], indent=2))
    else:
        for finding in findings:
            word, colour = _MARKS[finding.ok, finding.optional]
            click.echo(f"{click.style(word, fg=colour)} {finding.what:<10} {finding.found}")
            if finding.remedy:
                click.echo(f"{'':15} -> {finding.remedy}")
    sys.exit(0 if all(finding.ok or finding.optional for finding in findings) else 1)


_MARKS = {
    (True, True): ("ok  ", "green"),
    (True, False): ("ok  ", "green"),
    (False, True): ("note", "yellow"),
    (False, False): ("MISS", "red"),
}
