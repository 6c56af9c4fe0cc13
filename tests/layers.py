"""The layers of `emulator/`, and the imports of its modules as their files state them."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "emulator"
FILES = sorted(PACKAGE.rglob("*.py"))

LAYERS: dict[str, tuple[str, ...]] = {
    "leaves": ("errors", "units", "layout", "vectors", "plugins", "chance"),
    "world": ("world", "log", "machine"),
    "plugin families": (
        *("learning", "codecs", "modulation", "optimizers", "pulls"),
        *("schedules", "synchronization", "aggregation"),
    ),
    "protocol": ("core",),
    "a run's means": ("scenario", "shaping", "transport"),
    "a container": ("node",),
    "costs": ("costs",),
    "a run's life": ("checks", "runs"),
    "runtimes": ("runtimes",),
    "grids of runs": ("sweeps",),
    "commands": ("cli",),
}
"""Lowest first. A part imports parts of its own layer, in no cycle, and of the layers before it."""

RANK = {part: rank for rank, layer in enumerate(LAYERS.values()) for part in layer}


@cache
def tree(path: Path) -> ast.Module:
    """Return the syntax tree of the file at `path`."""
    return ast.parse(path.read_text())


def part(path: Path) -> str:
    """Return the part of `emulator/` that the file at `path` belongs to: its first folder."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def module_name(path: Path) -> str:
    """Return the full name of the module at `path`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def module_file(module: str) -> Path | None:
    """Return the file of `module`, or None if the repository has no such module."""
    place = ROOT.joinpath(*module.split("."))
    files = (place.with_suffix(".py"), place / "__init__.py")
    return next((file for file in files if file.is_file()), None)


@cache
def imports(path: Path) -> frozenset[str]:
    """Return the full name of each module that the file at `path` imports, in functions too."""
    package = path.relative_to(ROOT).parts[:-1]
    names: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else ()
            module = ".".join([*base, *filter(None, [node.module])])
            submodules = {name for a in node.names if module_file(name := f"{module}.{a.name}")}
            # `from .x import y`: y is a module of ours, or a name that x defines
            names |= submodules
            if len(submodules) < len(node.names):
                names.add(module)
    return frozenset(names)


@cache
def part_imports() -> Counter[tuple[str, str]]:
    """Return how many imports lead from each part of `emulator/` to each other part."""
    counts: Counter[tuple[str, str]] = Counter()
    for path in FILES:
        for name in imports(path):
            first, _, rest = name.partition(".")
            imported = rest.partition(".")[0]
            if first == "emulator" and imported not in ("", part(path)):
                counts[part(path), imported] += 1
    return counts
