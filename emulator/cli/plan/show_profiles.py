"""`emulate profiles`: list the profiles, or show a profile and a sample of the faults."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...errors import suggestion
from ..options import JSON_OPTION
from ..output import console, emit, table
from ..prepare.completed_words import profile_names
from ..read.pages import check_figure, figure_drawn
from .show_plan import (
    FAULTS_FIGURE,
    UNTIL_OPTION,
    draw_plan,
    print_plan,
    until_seconds,
)

if TYPE_CHECKING:
    from ...scenario.reading.profile_files import ProfileFile
    from ...scenario.timeline.fault_plan import FaultPlan

_TITLES = {
    "devices": "devices (profile: NAME)",
    "links": "links (link: NAME)",
    "failures": "failures (failures: [NAME])",
    "networks": "networks (model: {layers: NAME})",
}


@click.command(short_help="List the profiles of devices, links and failures, or show one.")
@click.argument("what", metavar="[KIND|NAME]", required=False, shell_complete=profile_names)
@click.option(
    "--seed", type=int, default=0, show_default=True, metavar="N", help="Seed of the sample."
)
@UNTIL_OPTION
@JSON_OPTION
@FAULTS_FIGURE
def profiles(
    what: str | None, seed: int, until: str | None, as_json: bool, figure: Path | None
) -> None:
    """List the profiles that a scenario in this folder can name, with a line for each; KIND is
    `devices`, `links`, `failures` or `networks`.

    With NAME, a profile's name or the path of its file, show its description, its source and its
    keys. Of a failure profile a sample follows: its faults on eight devices, as a picture and as
    tables like those of `emulate plan`. The sample is as long as it takes for some faults on each
    device, or as --until says.

    \b
    emulate profiles
    emulate profiles failures
    emulate profiles flaky-home --seed 3
    emulate profiles ./my-profile.yaml --until 24h --figure sample.png
    """
    from ...scenario.reading.profile_files import KINDS, find_profiles

    check_figure(figure)
    folder = Path.cwd()
    if what is None or what in KINDS:
        if figure is not None or until is not None:
            raise click.UsageError("--until and --figure need the NAME of a failure profile")
        _list(folder, list(KINDS) if what is None else [what], as_json=as_json)
        return
    found = find_profiles(folder, what)
    if not found:
        raise click.BadParameter(_unknown(folder, what), param_hint="NAME")
    if until is not None:
        until_seconds(until)
    samples = [_sample(profile, seed, until) for profile in found]
    drawn = next((plan for plan in samples if plan is not None), None)
    if drawn is None and (figure is not None or until is not None):
        raise click.UsageError(f"{what} is no failure profile: only faults have a sample")
    pairs = list(zip(found, samples, strict=True))
    emit(
        as_json,
        lambda: {"profiles": [_plain(*pair) for pair in pairs]},
        lambda: _show_each(pairs),
        ensure_ascii=False,
    )
    if figure is not None and drawn is not None:
        with figure_drawn(figure, to_stderr=as_json):
            draw_plan(drawn, figure)


def _show_each(pairs: "list[tuple[ProfileFile, FaultPlan | None]]") -> None:
    for profile, plan in pairs:
        _show(profile, plan)


def _list(folder: Path, kinds: list[Any], *, as_json: bool) -> None:
    from ...scenario.reading.profile_files import profile_files

    listed = {kind: list(profile_files(folder, kind)) for kind in kinds}
    plain = {kind: [each.plain() for each in found] for kind, found in listed.items()}
    emit(as_json, plain, lambda: _print(listed), ensure_ascii=False)


def _print(listed: "dict[Any, list[ProfileFile]]") -> None:

    out = console()
    for number, (kind, found) in enumerate(listed.items()):
        made = table("name", "description", title=_TITLES[kind])
        for profile in found:
            made.add_row(profile.name, profile.line)
        out.print(*([""] if number else []), made, sep="\n")


def _unknown(folder: Path, name: str) -> str:
    from ...scenario.reading.profile_files import KINDS
    from ...scenario.reading.profiles import Library

    library = Library(folder)
    known = [*KINDS, *(each for kind in KINDS for each in library.names(kind))]
    return f"{name!r} is no profile{suggestion(name, known) or ': `emulate profiles` lists all'}"


def _sample(profile: "ProfileFile", seed: int, until: str | None) -> "FaultPlan | None":
    from ...scenario.reading.profile_files import sample

    return sample(profile, seed, until) if profile.kind == "failures" else None


def _plain(profile: "ProfileFile", plan: "FaultPlan | None") -> dict[str, Any]:
    plain = {**profile.plain(), "keys": profile.keys}
    return plain if plan is None else {**plain, "sample": plan.plain()}


def _show(profile: "ProfileFile", plan: "FaultPlan | None") -> None:
    from rich.text import Text

    from ...scenario.algorithms import flow

    out = console()
    out.print(Text(profile.name, "bold"), Text(f" ({profile.kind}, {profile.file})", "dim"), sep="")
    made = table("", "")
    made.show_header = False
    made.add_row("description", profile.description.strip())
    made.add_row("source", profile.source.strip() or "-")
    for key, value in profile.keys.items():
        lines = value if isinstance(value, list) and key != "input" else [value]
        for number, line in enumerate(lines):
            made.add_row("" if number else key, flow(line))
    out.print(made, "", sep="\n")
    if plan is not None:
        print_plan(plan)
