"""Each option of a command is read, by the command and by each function that it is passed to."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.layers import ROOT

BELOW = ("analysis", "emulator/cli", "emulator/runs", "emulator/runtimes/docker", "emulator/sweeps")
"""Packages of functions to which commands pass their options on."""
BY_CLICK = {"context", "option", "parameter"}
"""Parameters with which click calls a function, whether the function needs them or not."""


def functions(file: Path) -> Iterator[ast.FunctionDef]:
    """Yield the functions of `file` that are no methods: a method may keep to what others read."""
    tree = ast.parse(file.read_text())
    yield from (node for node in tree.body if isinstance(node, ast.FunctionDef))


def unread(function: ast.FunctionDef) -> set[str]:
    """Return the parameters of `function` that it never reads."""
    own = function.args
    named = {each.arg for each in (*own.posonlyargs, *own.args, *own.kwonlyargs)}
    read = {
        node.id
        for statement in function.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    return named - read - BY_CLICK


@pytest.mark.parametrize("package", BELOW)
def test_each_parameter_is_read(package: str) -> None:
    missing = {
        f"{file.relative_to(ROOT)}: {name} of {function.name}"
        for file in sorted((ROOT / package).rglob("*.py"))
        for function in functions(file)
        for name in unread(function)
    }
    assert not missing
