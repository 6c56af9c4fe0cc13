"""`emulate test-codec`: try a codec against the laws that every codec keeps."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from ..options import JSON_OPTION
from ..output import emit
from .completed_words import paths

if TYPE_CHECKING:
    from ...checks.laws.codec_trials import Verdict


@click.command("test-codec", short_help="Try a codec of your own against the laws of codecs.")
@click.argument("codec", metavar="CODEC", shell_complete=paths)
@click.option(
    "--set",
    "given",
    multiple=True,
    metavar="FIELD=VALUE",
    help="Give the codec a field, for example --set keep=1%. Repeatable.",
)
@JSON_OPTION
def test_codec(codec: str, given: tuple[str, ...], as_json: bool) -> None:
    """Try the codec CODEC against the laws that every codec keeps.

    CODEC is ./file.py:Class, or the kind of a codec that is installed. The laws are tried on small
    gradients first, so that a broken law is shown with a small example. The exit code is 1 if the
    codec breaks a law.

    \b
    emulate new half --from half              write half.py, a codec to begin with
    emulate test-codec ./half.py:Half
    emulate test-codec ./own.py:Mine --set keep=1%
    """
    from ...checks.laws.codec_trials import examine
    from ...scenario.reading.typed_values import typed_codec

    made = typed_codec(codec, given)
    verdicts: list[Verdict] = []
    for verdict in examine(made):
        verdicts.append(verdict)
        if not as_json:
            _print(verdict)
    plain = [asdict(verdict) for verdict in verdicts]
    emit(as_json, plain, lambda: click.echo(_outcome(codec, verdicts)))
    sys.exit(1 if any(verdict.problem for verdict in verdicts) else 0)


def _print(verdict: "Verdict") -> None:
    mark = click.style("FAIL", fg="red") if verdict.problem else click.style("ok  ", fg="green")
    click.echo(f"{mark} {verdict.name:<11} {verdict.law}")
    if verdict.problem:
        click.echo(f"     {verdict.problem}")
        click.echo(f"     with the {verdict.example}")


def _outcome(codec: str, verdicts: Sequence["Verdict"]) -> str:
    broken = [verdict.name for verdict in verdicts if verdict.problem]
    if not broken:
        return f"{codec} keeps all {len(verdicts)} laws"
    return f"{codec} breaks {len(broken)} of {len(verdicts)} laws: {', '.join(broken)}"
