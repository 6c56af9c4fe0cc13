"""Which algorithms have a name, and what each name stands for."""

import json
from typing import Any

import click

from .options import JSON_OPTION


@click.command(short_help="The algorithms that have a name, and what each stands for.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@JSON_OPTION
def algorithms(names: tuple[str, ...], as_json: bool) -> None:
    """List the algorithms that a scenario can name, or some of them: what each does in a line,
    the paper, and the keys of `training` that the name stands for.

    To change one of them, override it (`--set training.codec.keep=0.5%`), or spell all of them out
    in the scenario instead of the name. What an algorithm does not say stays the scenario's:
    `learning_rate`, and in most cases `optimizer`.

    \b
    emulate algorithms
    emulate algorithms adacomp dgc
    """
    from ..scenario.algorithms import ALGORITHMS

    for name in names:
        if name not in ALGORITHMS:
            raise click.BadParameter(f"{name!r} is not {', '.join(ALGORITHMS)}", param_hint="NAME")
    found = {name: _plain(name) for name in names or ALGORITHMS}
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    for name, one in found.items():
        click.echo(f"{click.style(name, bold=True)}  {one['about']} ({one['paper']})")
        for key, value in one["training"].items():
            click.echo(f"    {key}: {_flow(value)}")


def _plain(name: str) -> dict[str, Any]:
    from ..scenario.algorithms import ALGORITHMS
    from ..scenario.reading.algorithm_names import meaning

    algorithm = ALGORITHMS[name]
    return {"about": algorithm.about, "paper": algorithm.paper, "training": meaning(name)}


def _flow(value: Any) -> str:
    from ..scenario.reading.algorithm_names import flow

    return flow(value)
