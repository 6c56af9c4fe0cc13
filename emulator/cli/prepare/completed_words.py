"""Words that shell completion offers for arguments and options. Nothing here imports a library."""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import click
from click.shell_completion import CompletionItem

from ...errors import EmulatorError
from ...machine.shipped_files import profile_folders, study_files
from ...runs.folder import RUNS, find, folders
from .schema import installed_schema

Node: TypeAlias = dict[str, Any]

_KINDS = ("devices", "links", "failures", "networks")
_SCENARIOS = (".yaml", ".yml")
_DEVICES = re.compile(r"^devices:.*?(?=^\w|\Z)", re.MULTILINE | re.DOTALL)
_GROUP = re.compile(r"^\s*-\s*\{?\s*name:\s*([\w.-]+)", re.MULTILINE)
_PRESET = re.compile(r"(?:.*[.\]])?(profile|link)=")
"""The part of `PATH=VALUE` before a value that may be the name of a profile."""
_PRESETS = {"profile": "devices", "link": "links"}
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")


def scenario_files(
    context: click.Context, parameter: click.Parameter, typed: str
) -> "list[CompletionItem[str]]":
    """Offer the YAML files and the folders whose paths begin with `typed`."""
    folder, slash, start = typed.rpartition("/")
    place = Path(folder + slash).expanduser()
    try:
        paths = sorted(place.iterdir())
    except OSError:
        return []
    words = []
    for path in paths:
        hidden = path.name.startswith(".") and not start.startswith(".")
        if path.name.startswith(start) and not hidden:
            if path.is_dir():
                words.append(f"{folder}{slash}{path.name}/")
            elif path.suffix in _SCENARIOS:
                words.append(f"{folder}{slash}{path.name}")
    return [CompletionItem(word) for word in words]


def paths(
    context: click.Context, parameter: click.Parameter, typed: str
) -> "list[CompletionItem[str]]":
    """Leave the completion to the shell, which knows paths."""
    return [CompletionItem(typed, type="file")]


def run_names(
    context: click.Context, parameter: click.Parameter, typed: str
) -> "list[CompletionItem[str]]":
    """Offer the scenarios that have been run, which stand for their latest runs, and all ids."""
    paths = folders(_runs(context))[::-1]
    scenarios = {path.parent.name: f"latest of {path.parent.name}" for path in paths}
    ids = {path.name.rpartition("-")[2]: f"{path.parent.name}, {path.name}" for path in paths}
    return matching({**scenarios, **ids}.items(), typed)


def device_names(
    context: click.Context, parameter: click.Parameter, typed: str
) -> "list[CompletionItem[str]]":
    """Offer the nodes with output in the run that stands before."""
    try:
        run = find(context.params.get("run") or "", _runs(context))
    except EmulatorError:
        return []
    names = sorted(file.stem for file in (run / "devices").glob("*.log"))
    return matching(((name, "") for name in names), typed)


def group_names(
    context: click.Context, parameter: click.Parameter, typed: str
) -> "list[CompletionItem[str]]":
    """Offer the groups of devices in the scenario that stands before."""
    # click leaves FILE among the unread words if the option still lacks its value
    files = [context.params.get("file"), *context.args]
    try:
        text = Path(next(filter(None, files), "")).read_text(encoding="utf-8")
    except (OSError, UnicodeError):
        return []
    groups = (name for part in _DEVICES.findall(text) for name in _GROUP.findall(part))
    return matching(((name, "") for name in groups), typed)


def profile_names(
    context: click.Context, parameter: click.Parameter, typed: str
) -> "list[CompletionItem[str]]":
    """Offer the kinds of profiles, then the profiles that a scenario in this folder can name."""
    names = {kind: f"all {kind}" for kind in _KINDS}
    for kind in _KINDS:
        for name in _profiles(kind):
            names.setdefault(name, kind)
    return matching(names.items(), typed)


def link_names(
    context: click.Context, parameter: click.Parameter, typed: str
) -> "list[CompletionItem[str]]":
    """Offer the profiles of links."""
    return matching(((name, "") for name in _profiles("links")), typed)


def _profiles(kind: str) -> Iterator[str]:
    for folder in profile_folders(Path.cwd()):
        yield from sorted(file.stem for file in (folder / kind).glob("*.yaml"))


def study_names(
    context: click.Context, parameter: click.Parameter, typed: str
) -> "list[CompletionItem[str]]":
    """Offer the papers' comparisons."""
    return matching(((name, "") for name in study_files()), typed)


def scenario_keys(
    context: click.Context, parameter: click.Parameter, typed: str
) -> "list[CompletionItem[str]]":
    """Offer the keys of scenarios, if `emulate schema --install` or another command has written
    the schema.
    """
    found = [(offer.text, offer.about) for offer in offers(installed_schema(), typed)]
    if key := _PRESET.match(typed):
        found += [(f"{key[0]}{name}", "") for name in _profiles(_PRESETS[key[1]])]
    return matching(found, typed)


def values_of(
    key: str, *, files: bool = False
) -> "Callable[[click.Context, click.Parameter, str], list[CompletionItem[str]]]":
    """Return a completion by the names that `key` of a scenario takes, and by `files` if asked."""

    def complete(
        context: click.Context, parameter: click.Parameter, typed: str
    ) -> "list[CompletionItem[str]]":
        texts = (offer.text for offer in offers(installed_schema(), f"{key}="))
        names = matching(((text.removeprefix(f"{key}="), "") for text in texts), typed)
        return [*names, *(paths(context, parameter, typed) if files else ())]

    return complete


def _runs(context: click.Context) -> Path:
    return Path(context.params.get("runs") or RUNS)


def matching(words: Iterable[tuple[str, str]], typed: str) -> "list[CompletionItem[str]]":
    """Return those of `words`, pairs of a word and a remark, that begin with `typed`."""
    return [
        CompletionItem(word, help=about or None) for word, about in words if word.startswith(typed)
    ]


# -- keys of scenarios, from the installed JSON schema --------------------------------------------


class Offer(NamedTuple):
    """A continuation of a typed `PATH=VALUE`."""

    text: str
    """The whole text; `.` or `=` at its end says that more must follow."""
    about: str
    """The first sentence of the key's description, or nothing."""


def offers(schema: Node, typed: str) -> Iterator[Offer]:
    """Yield the continuations of `typed` by one key, or by one of the values that a key names.

    Free values, such as times and numbers, have no continuation.
    """
    path, equals, _ = typed.partition("=")
    if equals:
        nodes = [each for node in _at(schema, path) for each in _alternatives(schema, node)]
        texts = [Offer(f"{path}={value}", "") for node in nodes for value in _values(node)]
    else:
        holder = path[: path.rfind(".") + 1]
        texts = [
            offer
            for node in _at(schema, holder.removesuffix("."))
            for name, key in node.get("properties", {}).items()
            for offer in _continuations(schema, f"{holder}{name}", key)
        ]
    unique = {offer.text: offer for offer in texts}
    yield from (offer for text, offer in unique.items() if text.startswith(typed))


def _continuations(schema: Node, path: str, key: Node) -> Iterator[Offer]:
    about = str(key.get("description", "")).split(". ")[0].removesuffix(".")
    nodes = list(_alternatives(schema, key))
    if any("properties" in node for node in nodes):
        yield Offer(f"{path}.", about)
    items = [each for node in nodes for each in _items(schema, node)]
    if any("properties" in node for node in items):
        yield Offer(f"{path}[0].", about)
    if not nodes or any("properties" not in node for node in nodes):
        yield Offer(f"{path}=", about)


def _at(schema: Node, path: str) -> list[Node]:
    """Return the alternatives for the value at `path`; none if the path leads nowhere."""
    nodes = list(_alternatives(schema, schema))
    for match in _STEP.finditer(path):
        if match[1] is None:
            nodes = [each for node in nodes for each in _items(schema, node)]
        else:
            keys = [node.get("properties", {}).get(match[1]) for node in nodes]
            nodes = [each for key in keys if key for each in _alternatives(schema, key)]
    return nodes


def _alternatives(schema: Node, node: Node) -> Iterator[Node]:
    """Yield the schemas that a value of `node` may have.

    A reference is replaced by the schema that it names, a choice by each of its alternatives.
    """
    if "$ref" in node:
        yield from _alternatives(schema, schema["$defs"][node["$ref"].rpartition("/")[2]])
        return
    choices = [choice for word in ("anyOf", "oneOf", "allOf") for choice in node.get(word, ())]
    if "properties" in node or not choices:  # beside properties, choices only require keys
        yield node
        return
    for choice in choices:
        yield from _alternatives(schema, choice)


def _items(schema: Node, node: Node) -> Iterator[Node]:
    items = node.get("items")
    return _alternatives(schema, items) if isinstance(items, dict) else iter(())


def _values(node: Node) -> list[str]:
    if node.get("type") == "boolean":
        return ["true", "false"]
    named = [*node.get("enum", ()), *([node["const"]] if "const" in node else ())]
    return [value for value in named if isinstance(value, str)]
