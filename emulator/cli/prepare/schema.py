"""`emulate schema`: print or install the JSON schema of scenario files."""

import json
import os
from pathlib import Path
from typing import Any

import click

from ...errors import HostError
from ...machine.made_files import require_marked

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


SCHEMA = "scenario.schema.json"
"""Name of the file, in the cache of this user or beside scenarios."""
SCHEMA_MARK = '"title": "Scenario"'
"""Text in each schema: a file without it is not ours to replace."""


def schema_file() -> Path:
    """Return the place of the installed schema, whether it exists or not."""
    from ...machine.cache import cache

    return cache(SCHEMA).absolute()


def install_schema() -> Path:
    """Write the schema of this version, with the plugins of installed packages; return its place.

    Raises HostError if the place cannot be written.
    """
    from tempfile import NamedTemporaryFile

    from ...scenario import schema

    file = schema_file()
    require_marked(file, SCHEMA_MARK)
    text = json.dumps(schema(), indent=2)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        # in one step: an editor may read the file meanwhile
        with NamedTemporaryFile("w", dir=file.parent, delete=False, encoding="utf-8") as new:
            new.write(text)
        os.chmod(new.name, 0o644)
        os.replace(new.name, file)
    except OSError as error:
        raise HostError(
            f"cannot write {file}: {error.strerror}: name another folder with EMULATE_CACHE"
        ) from error
    return file


def installed_schema() -> dict[str, Any]:
    """Return the installed schema, or an empty schema if there is none."""
    try:
        read = json.loads(schema_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return read if isinstance(read, dict) else {}
