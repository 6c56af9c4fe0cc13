"""Python files of users, which a scenario names by path and name as in `./models.py:build`.

A file is loaded by its path and need not be installed. It may import modules and packages that
stand beside it, at its top level, as a script does. An error of its code is a line of text.
"""

import ast
import os
import re
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from hashlib import sha256
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import PythonFileError, shortened, suggestion
from .own_process import is_own
from .plain_files import read_plain

NAME = r"\.py:[A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*$"
"""Regular expression for a JSON schema of the end of a reference."""
PATTERN = rf"^.+{NAME}"
"""Regular expression for a JSON schema of a reference: the path of a Python file, a colon, a name
in the file. JSON schemas have no class of all letters, and `is_reference` decides."""

MODULES = "emulate_file_"
"""Beginning of the names of the modules that are loaded from files."""

_LOADED: dict[str, ModuleType] = {}
"""Modules by the digest of path and contents: equal files give one class, not two that differ."""

_BESIDE: dict[str, list[ModuleType]] = {}
"""Modules that files have imported from beside them, by name; `sys.modules` has them no more."""


def is_reference(text: object) -> bool:
    """Return whether `text` names an object in a Python file, as `./models.py:build`.

    No other text makes a command run code.
    """
    if not isinstance(text, str):
        return False
    file, _, name = text.rpartition(":")
    return file.endswith(".py") and file != ".py" and name.isidentifier()


@dataclass(frozen=True)
class Reference:
    """An object in a Python file: the path as messages show it, and the object's name."""

    file: Path
    name: str

    @classmethod
    def read(cls, text: str, folder: str | Path) -> "Reference":
        """Return the reference `text`, with the path seen from `folder`.

        Raises PythonFileError unless `is_reference` holds for `text`.
        """
        if not is_reference(text):
            said = f"{shortened(text)} names no object of a Python file: write ./file.py:Name"
            raise PythonFileError(None, None, said)
        file, _, name = text.rpartition(":")
        return cls(Path(os.path.normpath(Path(folder) / file)), name)

    def __str__(self) -> str:
        return f"{self.file}:{self.name}"

    @property
    def resolved(self) -> "Reference":
        """The same with an absolute path, in which no folder is a link: `latest` moves with the
        next run."""
        return Reference(self.file.parent.resolve() / self.file.name, self.name)

    def load(self) -> Any:
        """Return the object. Equal contents of a file run only once.

        Raises PythonFileError if the file is missing, has a syntax error, raises an exception, or
        lacks the name; with the line, where there is one.
        """
        contents = self.contents()
        place = self.file.resolve()
        parts = (str(place), *(f"{path}\0{text!r}" for path, text in contents.items()))
        digest = sha256("\0".join(parts).encode()).hexdigest()[:16]
        if digest not in _LOADED:
            with self.blamed():
                _LOADED[digest] = _run(place, f"{MODULES}{digest}", _beside(contents))
        module = _LOADED[digest]
        if not hasattr(module, self.name):
            raise self._lacks(module)
        return getattr(module, self.name)

    def contents(self) -> Mapping[str, bytes]:
        """Return the contents of the file and of the modules beside the file that it imports.

        The keys are paths from the file's folder. Raises PythonFileError for an unreadable file.
        """
        try:
            found = {self.file.name: read_plain(self.file)}
        except OSError as error:
            raise PythonFileError(self.file, None, self._unreadable(error)) from error
        _gather(self.file.name, self.file.resolve().parent, found)
        return found

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Raise a PythonFileError with file and line for any error that the block raises.

        The line is the innermost one in the file or beside it.
        """
        try:
            yield
        except PythonFileError:
            raise
        except BaseException as error:
            if not isinstance(error, (Exception, SystemExit)) and not is_own():
                raise  # an interrupt by the person at the terminal, for example
            place, line = self.line_of(error)
            said = f"raises {error_text(error)}{self._late_import(error)}"
            raise PythonFileError(place, line, said) from error

    def begin(self) -> int | None:
        """Return the line at which the object is defined as a function or class; None without."""
        try:
            tree = ast.parse(self.file.read_bytes())
        except (OSError, SyntaxError, ValueError):
            return None
        kinds = ast.FunctionDef | ast.ClassDef
        defined = [node for node in ast.walk(tree) if isinstance(node, kinds)]
        lines = [node.lineno for node in defined if node.name == self.name]
        return lines[-1] if lines else None

    def line_of(self, error: BaseException) -> tuple[Path, int | None]:
        """Return file and line of the innermost place of `error` in the file or beside it.

        Without such a place the line is None, and the file is this one.
        """
        folder = self.file.resolve().parent
        own = {str(folder / path): self.file.parent / path for path in self.contents()}
        places = [(f.filename, f.lineno) for f in traceback.extract_tb(error.__traceback__)]
        if isinstance(error, SyntaxError) and error.filename:
            places.append((error.filename, error.lineno))
        return next(
            ((own[at], line) for at, line in reversed(places) if at in own), (self.file, None)
        )

    def _late_import(self, error: BaseException) -> str:
        """Return the remedy if `error` is that of an import in a function, of a module beside."""
        module = (error.name or "") if isinstance(error, ModuleNotFoundError) else ""
        beside = module and _files(module.partition(".")[0], self.file.resolve().parent)
        return ": import what stands beside the file at its top level" if beside else ""

    def _lacks(self, module: ModuleType) -> PythonFileError:
        """Return the error for a `module` without the name."""
        names = [
            name
            for name, value in vars(module).items()
            if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
        ]
        hint = suggestion(self.name, names)
        if not hint:
            hint = f": it defines {', '.join(names)}" if names else ": it defines nothing"
        return PythonFileError(self.file, None, f"has no {self.name!r}{hint}")

    def _unreadable(self, error: OSError) -> str:
        """Return the message for a file that cannot be read."""
        try:
            others = [path.name for path in self.file.parent.glob("*.py")]
        except OSError:
            others = []
        missing = isinstance(error, FileNotFoundError)
        hint = suggestion(self.file.name, others) if missing else ""
        return f"cannot be read: {error.strerror}{hint}"


def load(text: str, folder: str | Path = ".") -> Any:
    """Return the object that `text` names as `./file.py:Name`, with the path seen from `folder`.

    Raises PythonFileError, as `Reference.read` and `Reference.load` do.
    """
    return Reference.read(text, folder).load()


# -- modules beside the file -------------------------------------------------------------------


def _beside(contents: Mapping[str, bytes]) -> frozenset[str]:
    """Return the names under which the files of `contents` can be imported."""
    return frozenset(Path(path).parts[0].removesuffix(".py") for path in contents)


def _gather(path: str, folder: Path, found: dict[str, bytes]) -> None:
    """Add to `found` the files of `folder` that the file at `path` imports, at any depth."""
    try:
        tree = ast.parse(found[path])
    except (SyntaxError, ValueError):  # reported when the file is run
        return
    for name in sorted(set(_imported(tree))):
        for file in _files(name, folder):
            inside = file.relative_to(folder).as_posix()
            if inside not in found:
                found[inside] = file.read_bytes()
                _gather(inside, folder, found)


def _imported(tree: ast.AST) -> Iterator[str]:
    """Yield the first part of each imported module's name in `tree`, in functions too."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name.partition(".")[0] for alias in names)
            case ast.ImportFrom(module=str(module)):
                yield module.partition(".")[0]
            case ast.ImportFrom(names=names):
                yield from (alias.name for alias in names)


def _files(name: str, folder: Path) -> list[Path]:
    """Return the files of the module or package `name` beside the file; empty without one."""
    if name in sys.stdlib_module_names:
        return []
    if (module := folder / f"{name}.py").is_file():
        return [module]
    package = folder / name
    return sorted(package.rglob("*.py")) if (package / "__init__.py").is_file() else []


# -- running -----------------------------------------------------------------------------------


def _run(file: Path, package: str, names: frozenset[str]) -> ModuleType:
    """Run `file` as a module of its own in the new `package`; `names` stand beside the file."""
    parent = ModuleType(package)
    parent.__path__ = [str(file.parent)]  # for relative imports
    sys.modules[package] = parent
    spec = spec_from_file_location(f"{package}.{file.stem}", file)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    try:
        with _importable(names, file.parent), redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except BaseException:
        for name in [name for name in sys.modules if name.partition(".")[0] == package]:
            del sys.modules[name]
        raise
    return module


@contextmanager
def _importable(names: frozenset[str], folder: Path) -> Iterator[None]:
    """Let imports of `names` find the modules in `folder`, and forget these modules afterwards.

    Two files may stand beside modules of the same name, so none of them stays in `sys.modules`.
    """

    class Finder:
        @staticmethod
        def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
            return PathFinder.find_spec(name, [str(folder)]) if name in names else None

    def taken() -> list[str]:
        return [name for name in sys.modules if name.partition(".")[0] in names]

    others = {name: sys.modules.pop(name) for name in taken()}
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    finder: Any = Finder
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        sys.dont_write_bytecode = writes
        for name in taken():
            _BESIDE.setdefault(name, []).append(sys.modules.pop(name))
        sys.modules.update(others)


_LONGEST = 400
"""Characters of an error's message that are shown."""

_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
"""Sequences with which a terminal changes colours; messages of Keras contain them."""


def error_text(error: BaseException) -> str:
    """Return type and message of `error` on one line, as `ValueError: no such class`.

    A long message is cut, with the number of its characters. Characters that cannot be printed are
    left out, and so is the message of an error that fails to give its text.
    """
    name = type(error).__name__
    try:
        said = str(error.msg if isinstance(error, SyntaxError) else error)
    except Exception:  # the type is of the user, and so is its `__str__`
        return name
    shown = "".join(mark if mark.isprintable() else " " for mark in _COLOURS.sub("", said))
    text = " ".join(shown.split())
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}… ({len(said):,} characters)"
    return f"{name}: {text}" if text else name
