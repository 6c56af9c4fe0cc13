"""Templates: scenarios to begin with, which `emulate new` writes under another name."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parents[2]
_SHIPPED = tuple(
    folder / name
    for folder in (_PACKAGE.parent / "scenarios", _PACKAGE)
    for name in ("templates", "own")
)
"""Folders of the templates, in a checkout and in an installed package."""

_COMPANION = re.compile(r"(?<![\w.])\./([\w-]+\.py)\b")
"""A Python file beside the scenario, in the text of the scenario."""

_COMMENT = re.compile(r"#.*")

_NAME = re.compile(r"^name:.*$", re.MULTILINE)


@cache
def templates() -> Mapping[str, Path]:
    """Return the files of all templates by name; the first is the default."""
    files = {file.stem: file for folder in _SHIPPED for file in sorted(folder.glob("*.yaml"))}
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
