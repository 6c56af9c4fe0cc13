"""`emulate compose`: lay down the folder that `docker-compose.yml` mounts."""

from pathlib import Path

import click

from .options import FILE


@click.command(short_help="Lay down a scenario for `docker compose up`.")
@FILE
@click.argument("folder", type=click.Path(path_type=Path))
def compose(file: Path, folder: Path) -> None:
    """Lay down in FOLDER the files that docker-compose.yml mounts, to play the scenario FILE.

    Docker Compose plays no faults. The server ends the run at a stop condition. FOLDER has the form
    of a run folder: `emulate logs FOLDER` reads it.

    \b
    emulate compose scenarios/smallest.yaml build/compose
    docker compose up
    """
    from ..runtimes.docker.compose_file import lay_down
    from ..scenario import load

    lay_down(load(file), folder)
    click.echo(f"compose: {folder} holds the files that docker-compose.yml mounts")
