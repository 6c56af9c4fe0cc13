"""Plugin classes of users: from a Python file, or from an installed package's entry point.

Such a class becomes a class whose `kind` is the plugin's name: `file.py:Class`, or the name of the
entry point. The name is the same wherever the file lies, so equal runs have equal logs. An error of
the class's code is told with the file and the line that raised it.
"""

import ast
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import field, is_dataclass, make_dataclass
from pathlib import Path
from typing import Any, Literal

from ..errors import PythonFileError
from .python_file import Reference, error_text

_KINDS: dict[tuple[type, str], type] = {}
"""Classes with a `kind`, by the class that each is made of; equal plugins need the same class."""
_FILED: dict[str, type] = {}
"""The class that each reference to a file named when it was last read."""
_CONTENTS: dict[str, Mapping[str, bytes]] = {}
"""The contents of the file then, and of those beside it."""


def from_file(text: str, protocol: type, *, anew: bool = False) -> type:
    """Return the plugin class that `text` names as `/path/file.py:Class`.

    The class is a frozen dataclass with the methods of `protocol`, whose fields are the plugin's
    keys. With `anew` the file is read again. Raises PythonFileError if it cannot be loaded, or
    holds no such class.
    """
    if anew or text not in _FILED:
        reference = Reference.read(text, ".")
        cls = reference.load()
        if reason := refusal(cls, protocol):
            line = _line(reference)
            raise PythonFileError(reference.file, line, f"{reference.name!r} {reason}")
        _CONTENTS[text] = reference.contents()
        _FILED[text] = named(cls, f"{reference.file.name}:{reference.name}", text)
    return _FILED[text]


def refusal(cls: Any, protocol: type) -> str:
    """Return why `cls` is no plugin with the methods of `protocol`; empty if it is one."""
    noun = protocol.__name__.lower()
    if not isinstance(cls, type):
        return f"is no class: a {noun} is a class with @dataclass(frozen=True)"
    if not is_dataclass(cls) or not getattr(cls, "__dataclass_params__").frozen:  # noqa: B009
        return f"is no {noun}: write @dataclass(frozen=True) above the class"
    names = [name for name in vars(protocol) if not name.startswith("_") and name != "kind"]
    has = {*dir(cls), *cls.__dataclass_fields__}
    lacks = [name for name in names if name not in has]
    return f"is no {noun}: it lacks {' and '.join(lacks)}" if lacks else ""


def named(cls: type, kind: str, source: str, group: str = "") -> type:
    """Return a subclass of the frozen dataclass `cls` whose field `kind` is the text `kind`.

    `source` is the text from which a scenario or another process makes the class again; `group` is
    the group of the entry point, empty for a file.
    """
    if (cls, source) not in _KINDS:
        fields: list[Any] = [("kind", Literal[kind], field(default=kind))]
        space = {"__doc__": cls.__doc__, "plugin_source": source, "plugin_group": group}
        space |= {"__module__": cls.__module__}
        made = make_dataclass(cls.__name__, fields, bases=(cls,), frozen=True, namespace=space)
        _KINDS[cls, source] = made
    return _KINDS[cls, source]


def contents(text: str) -> Mapping[str, bytes]:
    """Return the contents of the file of the reference `text`, and of those beside it.

    Of a class that `from_file` has returned, the contents are those that it was made from.
    """
    return _CONTENTS[text] if text in _CONTENTS else Reference.read(text, ".").contents()


@contextmanager
def blamed(plugin: Any) -> Iterator[None]:
    """Raise a PythonFileError for any error that the block raises, with the innermost line in the
    file or the installed package of the users' `plugin`."""
    cls = type(plugin)
    if not cls.plugin_group:
        with Reference.read(cls.plugin_source, ".").blamed():
            yield
        return
    try:
        yield
    except (Exception, SystemExit) as error:
        if (raised := raised_by(error, cls)) is None:
            top = sys.modules[cls.__module__.partition(".")[0]]
            package = str(top.__file__).removesuffix("__init__.py")
            raised = PythonFileError(package, None, f"raises {error_text(error)}")
        raise raised from error


def _line(reference: Reference) -> int | None:
    """Return the line that defines the name, if the file itself does."""
    for node in ast.parse(Path(reference.file).read_bytes()).body:
        targets = node.targets if isinstance(node, ast.Assign) else [node]
        names = [getattr(each, "name", getattr(each, "id", None)) for each in targets]
        if reference.name in names:
            return node.lineno
    return None


def raised_by(error: BaseException, cls: type) -> PythonFileError | None:
    """Return `error` with file and line if the code of the plugin class `cls` raised it.

    The line is the innermost one of that code. None for an error of other code.
    """
    place = _place(error, cls)
    if place is None:
        return None
    return PythonFileError(*place, f"raises {error_text(error)}")


@contextmanager
def calling(cls: type) -> Iterator[None]:
    """Raise a PythonFileError for any error in the block, which calls the plugin class `cls`.

    What the code prints goes to standard error.
    """
    try:
        with redirect_stdout(sys.stderr):
            yield
    except PythonFileError:
        raise
    except (Exception, SystemExit) as error:
        if (raised := raised_by(error, cls)) is not None:
            raise raised from error
        said = f"makes the emulator raise {error_text(error)}"
        raise PythonFileError(getattr(cls, "kind", cls.__name__), None, said) from error


def _place(error: BaseException, cls: type) -> tuple[Path | str, int | None] | None:
    """Return file and line of the innermost place of `error` in the code of `cls`."""
    source, group = getattr(cls, "plugin_source"), getattr(cls, "plugin_group")  # noqa: B009
    if not group:
        file, line = Reference.read(source, ".").line_of(error)
        return None if line is None else (file, line)
    package = cls.__module__.partition(".")[0]
    frames = [*traceback.walk_tb(error.__traceback__)]
    for frame, line in reversed(frames):
        if str(frame.f_globals.get("__name__")).partition(".")[0] == package:
            return frame.f_code.co_filename, line
    return None
