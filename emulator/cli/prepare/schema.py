"""`emulate schema`: print or install the JSON schema of scenario files."""

import json

import click

from .installed_schema import install_schema

_USES = """\
A scenario that begins with this line is completed and checked by editors with the YAML language
server: VS Code (extension "YAML" by Red Hat), Neovim (yamlls), Emacs (lsp-mode, eglot), Helix, Zed.
`emulate new` writes the line with a schema beside the scenario, for all who work there:

    # yaml-language-server: $schema={uri}

PyCharm and other editors by JetBrains read this line:

    # $schema: {uri}

For all scenarios of a folder, without the line:

    VS Code     .vscode/settings.json:  {{"yaml.schemas": {{"{uri}": ["scenarios/*.yaml"]}}}}
    Neovim      vim.lsp.config("yamlls", {{settings = {{yaml = {{schemas = {{
                  ["{uri}"] = "scenarios/*.yaml"}}}}}}}})
    PyCharm     Settings > Languages & Frameworks > Schemas and DTDs > JSON Schema Mappings:
                add {file}

Install it again after an update of emulate, and after a package with plugins was installed."""


@click.command(short_help="Print the JSON schema of scenario files, for editors.")
@click.option(
    "--install", is_flag=True, help="Write the schema to a file, and print how editors find it."
)
def schema(install: bool) -> None:
    """Print the JSON schema of scenario files, for editors that complete and check as you type.

    With --install, write the schema to a file of this user in `$EMULATE_CACHE`, or else in
    `emulate` in `$XDG_CACHE_HOME` or in `~/.cache`, and print how VS Code, Neovim, PyCharm and
    others use it. Editors need no network for it.

    A schema beside the scenarios of a repository serves all who work there: write
    `# yaml-language-server: $schema=scenario.schema.json` as the scenario's first line.

    \b
    emulate schema --install
    emulate schema > scenario.schema.json
    """
    if install:
        file = install_schema()
        click.echo(f"schema: {file}\n")
        click.echo(_USES.format(uri=file.as_uri(), file=file))
        return
    from ...scenario import schema as json_schema

    click.echo(json.dumps(json_schema(), indent=2))
