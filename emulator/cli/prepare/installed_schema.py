"""The JSON schema of scenarios as a file of this user, for editors and for shell completion."""

import json
import os
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from ...errors import HostError
from ...machine.cache import cache
from ...machine.made_files import require_marked

SCHEMA = "scenario.schema.json"
"""Name of the file, in the cache of this user or beside scenarios."""
SCHEMA_MARK = '"title": "Scenario"'
"""Text in each schema: a file without it is not ours to replace."""


def schema_file() -> Path:
    """Return the place of the installed schema, whether it exists or not."""
    return cache(SCHEMA).absolute()


def install_schema() -> Path:
    """Write the schema of this version, with the plugins of installed packages; return its place.

    Raises HostError if the place cannot be written.
    """
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
