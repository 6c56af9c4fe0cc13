"""Before a run: `check` the scenario, print the `schema`, see the `doctor`."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from .play import FILE, SET
from .world import JSON_OPTION


@click.command()
@FILE
@SET
@JSON_OPTION
def check(file: Path, overrides: tuple[str, ...], as_json: bool) -> None:
    """Say what the scenario FILE means, and whether this host can carry it. Starts nothing.

    Exits 2 and prints every mistake with its place if the file is wrong, 1 if the host is too
    small for it.
    """
    from ..host import Host
    from ..scenario import demand, load, shortfalls, world
    from ..scenario.demand import Host as Capacity

    scenario, host = load(file, overrides), Host.here()
    shown, wanted = world(scenario), demand(scenario)
    short = shortfalls(wanted, Capacity(host.cores, host.available))
    if as_json:
        lacking = [{"severity": one.severity, "text": one.text} for one in short]
        content = {
            **shown.plain(),
            "demand": wanted.plain(),
            "host": host.plain(),
            "shortfalls": lacking,
        }
        click.echo(json.dumps(content, indent=2))
    else:
        from .tables import print_world

        print_world(shown, wanted, host, short)
    sys.exit(1 if any(one.severity == "error" for one in short) else 0)


@click.command()
def schema() -> None:
    """Print the JSON schema of scenario files, for editors.

    With the YAML extension of an editor: put
    `# yaml-language-server: $schema=scenario.schema.json` on a scenario's first line.
    """
    from ..scenario import schema as describe

    click.echo(json.dumps(describe(), indent=2))


@click.command()
@JSON_OPTION
def doctor(as_json: bool) -> None:
    """Say what this machine has of what runs need, and how to get what it lacks."""
    from ..doctor import examine

    findings = examine()
    if as_json:
        rows: list[dict[str, Any]] = [finding.plain() for finding in findings]
        click.echo(json.dumps(rows, indent=2))
    else:
        for finding in findings:
            mark = click.style("ok  ", fg="green") if finding.ok else click.style("MISS", fg="red")
            click.echo(f"{mark} {finding.what:<10} {finding.found}")
            if finding.remedy:
                click.echo(f"                -> {finding.remedy}")
    sys.exit(0 if all(finding.ok or finding.optional for finding in findings) else 1)
