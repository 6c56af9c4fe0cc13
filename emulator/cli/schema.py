"""`emulate schema`: print the JSON schema of scenario files."""

import json

import click


@click.command(short_help="Print the JSON schema of scenario files, for editors.")
def schema() -> None:
    """Print the JSON schema of scenario files, for editors that complete and check as you type.

    For editors with the YAML language server, write
    `# yaml-language-server: $schema=scenario.schema.json` as the scenario's first line.

    \b
    emulate schema > scenario.schema.json
    """
    from ..scenario import schema as json_schema

    click.echo(json.dumps(json_schema(), indent=2))
