"""The code that decides the numbers of a run in virtual time, as a digest that each point keeps.

The digest covers syntax trees, so comments, docstrings and the layout of a file change nothing.
Reading of a scenario has no part in it: the scenario as read is in the digest of a point.
"""

import ast
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

from ..machine.cache import cache
from ..machine.installed import versions
from ..runs.results import replacing

_PACKAGE = Path(__file__).parents[1]

DECIDING = (
    *("aggregation", "chance.py", "codecs", "core", "costs", "layout.py", "learning"),
    *("log/records", "log/summary.py", "log/targets.py", "modulation", "optimizers", "pulls"),
    *("runs/conductor.py", "runs/data_split.py", "runs/planning.py", "runtimes/virtual"),
    *("scenario/model.py", "scenario/sections", "scenario/timeline", "schedules"),
    *("synchronization", "units.py", "vectors.py", "world"),
)
"""Folders and modules of the package that can change a number of a run."""

Code: TypeAlias = Mapping[str, str | None]
"""Digest of the modules, and the versions of Python and of the libraries that compute."""
_Stat: TypeAlias = tuple[str, int, int]
"""Path in the package, size in bytes, time of the last change in ns."""


def deciding_code() -> Code:
    """Return the code that decides numbers, as it is in the files at this moment."""
    return _code(_modules(tuple(_stats())))


def code_of(note: Mapping[str, Any]) -> Code:
    """Return the code that played the point of `note`.

    A note without the key `code` was written before notes had it: its point counts as played by the
    code that is here when the note is first read, which then becomes a part of it.
    """
    code: Code = note.get("code") or deciding_code()
    return code


def differences(before: Code, now: Code) -> str:
    """Return, in words, in which way `now` is other code than `before`."""
    changed = [
        f"{name} {now.get(name)} instead of {before.get(name)}"
        for name in sorted({*before, *now} - {"modules"})
        if before.get(name) != now.get(name)
    ]
    if before.get("modules") != now.get("modules"):
        changed.append("other modules of the emulator")
    return ", ".join(changed)


def _code(modules: str) -> Code:
    python = ".".join(map(str, sys.version_info[:2]))
    return {"modules": modules, "python": python, **versions(("numpy", "tensorflow"))}


def deciding_files() -> Iterator[Path]:
    """Yield the files of the modules that decide, in a fixed order."""
    for name in DECIDING:
        path = _PACKAGE / name
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def _stats() -> Iterator[_Stat]:
    for file in deciding_files():
        stat = os.stat(file)
        yield file.relative_to(_PACKAGE).as_posix(), stat.st_size, stat.st_mtime_ns


@lru_cache(1)
def _modules(stats: tuple[_Stat, ...]) -> str:
    """Return the digest of all modules with these `stats`.

    The digests of the files are kept by their stats in the cache folder: parsing takes seconds.
    """
    kept = cache("code", f"{sha256(str(_PACKAGE).encode()).hexdigest()[:16]}.json")
    known = _known(kept)
    digests = {f"{stat}": known.get(f"{stat}") or tree_digest(_PACKAGE / stat[0]) for stat in stats}
    if digests.keys() - known.keys():
        with suppress(OSError):  # a cache that cannot be written costs time alone
            kept.parent.mkdir(parents=True, exist_ok=True)
            with replacing(kept) as sink:
                sink.write(json.dumps(digests).encode())
    parts = (f"{stat[0]} {digest}\n" for stat, digest in zip(stats, digests.values(), strict=True))
    return sha256("".join(parts).encode()).hexdigest()[:16]


def _known(file: Path) -> dict[str, str]:
    """Return the digests in `file` by stat; {} if it is missing or damaged."""
    try:
        known = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def tree_digest(file: Path) -> str:
    """Return the digest of the syntax tree of `file` without its docstrings."""
    tree = ast.parse(file.read_bytes())
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [each for each in body if not _is_text(each)]  # type: ignore[attr-defined]
    return sha256(ast.dump(tree).encode()).hexdigest()[:16]


def _is_text(node: ast.AST) -> bool:
    """Return whether `node` is a statement of nothing but a text, as docstrings are."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
