"""`emulate schema`: the JSON schema of scenario files."""

import json

import click


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
