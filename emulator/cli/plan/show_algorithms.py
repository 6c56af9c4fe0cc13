"""`emulate algorithms`: list the named algorithms with the keys of each algorithm."""

from typing import Any

import click

from ..options import JSON_OPTION
from ..output import emit
from ..prepare.completed_words import values_of


@click.command(short_help="List the algorithms of the papers and the keys that they set.")
@click.argument(
    "names",
    nargs=-1,
    metavar="[NAME]...",
    shell_complete=values_of("training.algorithm"),
)
@JSON_OPTION
def algorithms(names: tuple[str, ...], as_json: bool) -> None:
    """List the algorithms for the key `training.algorithm`, or the algorithms called NAME.

    Plugins of installed packages follow, each with its family.

    For each algorithm there is a description, the paper, and the keys of `training` that the name
    sets. To change such a key, override it (`--set training.codec.keep=0.5%`), or write all keys
    into the scenario in place of the name. An algorithm leaves the other keys to the scenario:
    `learning_rate`, and in most cases `optimizer`.

    \b
    emulate algorithms
    emulate algorithms adacomp dgc
    """
    from ...scenario.algorithms import ALGORITHMS
    from ...scenario.reading.plugin_files import installed_plugins

    plugins = {plugin.kind: plugin for plugin in installed_plugins()}
    known = [*ALGORITHMS, *plugins]
    for name in names:
        if name not in known:
            raise click.BadParameter(f"{name!r} is not {', '.join(known)}", param_hint="NAME")
    chosen = names or known
    listed = {name: _plain(name) for name in chosen if name in ALGORITHMS}
    own = {name: plugins[name].plain() for name in chosen if name in plugins}

    def show() -> None:
        for name, facts in listed.items():
            click.echo(f"{click.style(name, bold=True)}  {facts['about']} ({facts['paper']})")
            for key, value in facts["training"].items():
                click.echo(f"    {key}: {_flow(value)}")
        for name, facts in own.items():
            click.echo(f"{click.style(name, bold=True)}  {facts['about']} ({facts['from']})")
            click.echo(f"    {facts['family']}: {facts['class']}")

    emit(as_json, {**listed, **own}, show)


def _plain(name: str) -> dict[str, Any]:
    from ...scenario.algorithms import ALGORITHMS, meaning

    algorithm = ALGORITHMS[name]
    return {"about": algorithm.about, "paper": algorithm.paper, "training": meaning(name)}


def _flow(value: Any) -> str:
    from ...scenario.algorithms import flow

    return flow(value)
