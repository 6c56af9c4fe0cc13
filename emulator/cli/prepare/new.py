"""`emulate new`: write a commented scenario to begin with, from a template."""

import re
from collections.abc import Mapping
from functools import cache
from itertools import chain
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from ...errors import HostError
from ...machine.made_files import require_marked
from ...machine.shipped_files import shipped
from .completed_words import matching
from .schema import SCHEMA, SCHEMA_MARK, install_schema, schema_file

_COMPANION = re.compile(r"(?<![\w.])\./([\w-]+\.py)\b")
"""A Python file beside the scenario, in the text of the scenario."""

_COMMENT = re.compile(r"#.*")

_NAME = re.compile(r"^name:.*$", re.MULTILINE)


def template_names(
    context: click.Context, parameter: click.Parameter, typed: str
) -> "list[CompletionItem[str]]":
    """Offer the templates of `emulate new` to shell completion."""
    return matching(((name, question(name)) for name in templates()), typed)


@click.command(short_help="Write a commented scenario to begin with.")
@click.argument("name", metavar="[NAME]", required=False)
@click.option(
    "--from",
    "template",
    default="quickstart",
    show_default=True,
    metavar="TEMPLATE",
    shell_complete=template_names,
    help="Template to begin with; without NAME all templates are listed.",
)
def new(name: str | None, template: str) -> None:
    """Write the scenario NAME.yaml into the current folder, from a template with comments.

    No file of yours is overwritten. The first line names scenario.schema.json to editors, which
    this command writes beside the scenario. Without NAME, list the templates.

    \b
    emulate new                               list the templates
    emulate new lab
    emulate new lab --from fleet
    """
    if template not in templates():
        raise click.BadParameter(
            f"{template!r} is no template: there are {', '.join(templates())}", param_hint="--from"
        )
    if name is None:
        for each in templates():
            click.echo(f"{each:<12} {question(each)}")
        return
    _check_name(name)
    install_schema()  # for the completion of keys
    files = written(template, name.removesuffix(".yaml"), SCHEMA)
    _write(files)
    _write_schema(Path(SCHEMA))
    file, *companions = files
    click.echo(f"wrote {', '.join([file, *companions])} (template {template})")
    click.echo(_next_steps(file, only_virtual=template == "fleet"))


def _check_name(name: str) -> None:
    """Raise click.BadParameter unless a scenario can be called `name`, or is in `name`.yaml."""
    from ...scenario.model import FOLDER_NAME

    if not FOLDER_NAME.fullmatch(name.removesuffix(".yaml")):
        raise click.BadParameter(
            f"{name!r}: write up to 64 letters, digits, '.', '_' and '-', a letter or digit first; "
            "the file is written into the current folder",
            param_hint="NAME",
        )


def _write(files: Mapping[str, str]) -> None:
    """Write `files` into the current folder, or write none of them.

    The first is the scenario. A Python file that is there already with the same text stays.
    Raises click.UsageError if another file is there, HostError if the folder cannot be written.
    """
    scenario, *_ = files
    missing = {
        name: text for name, text in files.items() if name == scenario or not _holds(name, text)
    }
    there = [file for file in missing if Path(file).exists() or Path(file).is_symlink()]
    if there:
        other = "NAME or folder" if scenario in there else "folder"
        raise click.UsageError(f"{', '.join(there)} is here already: choose another {other}")
    made: list[Path] = []
    try:
        for name, text in missing.items():
            with Path(name).open("x", encoding="utf-8") as file:
                made.append(Path(name))
                file.write(text)
    except OSError as error:
        for path in made:
            path.unlink(missing_ok=True)
        raise HostError(f"cannot write {Path(name).absolute()}: {error.strerror}") from error


def _write_schema(file: Path) -> None:
    """Write the schema beside the scenario, unless a file of another program has its name.

    The scenario names the schema by this path, which holds on each machine that has the folder.
    """
    try:
        require_marked(file, SCHEMA_MARK)
        file.unlink(missing_ok=True)
        file.write_bytes(schema_file().read_bytes())
    except (HostError, OSError):  # editors do without
        return


def _holds(file: str, text: str) -> bool:
    """Return whether `file` is there with the content `text`."""
    try:
        return Path(file).read_bytes() == text.encode()
    except OSError:
        return False


def _next_steps(file: str, *, only_virtual: bool) -> str:
    steps = [
        (f"emulate check {file}", "show the plan, and whether this host can carry it"),
        (f"emulate run {file} --on virtual", "play it in virtual time, without Docker"),
        (f"emulate run {file}", "play it in containers; `emulate doctor` says what is missing"),
        (f"emulate report {file.removesuffix('.yaml')}", "draw its latest run as a page"),
    ]
    if only_virtual:
        steps[0] = (f"{steps[0][0]} --on virtual", steps[0][1])
        del steps[2]
    width = max(len(command) for command, _ in steps)
    return "\n".join(f"  {command:<{width}}   {words}" for command, words in steps)


@cache
def templates() -> Mapping[str, Path]:
    """Return the files of all templates by name; the first is the default."""
    folders = chain(shipped("templates"), shipped("own"))
    files = {file.stem: file for folder in folders for file in sorted(folder.glob("*.yaml"))}
    return dict(sorted(files.items(), key=lambda item: item[0] != "quickstart"))


def question(template: str) -> str:
    """Return the question that the template asks in its first line."""
    return templates()[template].read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")


def written(template: str, name: str, schema: str) -> Mapping[str, str]:
    """Return the files of a scenario `name` made from `template`: texts by file name.

    The scenario comes first; its first line names the address `schema` to editors. Python files
    that the template names follow.
    """
    source = templates()[template]
    text = _NAME.sub(f"name: {name}", source.read_text(encoding="utf-8"), count=1)
    named = _COMPANION.findall(_COMMENT.sub("", text))
    companions = {file: (source.parent / file).read_text(encoding="utf-8") for file in named}
    return {f"{name}.yaml": f"# yaml-language-server: $schema={schema}\n{text}", **companions}
