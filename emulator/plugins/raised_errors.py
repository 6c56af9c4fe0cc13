"""Errors that the code of users' plugins raises, with the file and the line that raised them."""

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

from ..errors import PythonFileError
from .error_text import error_text
from .python_file import Reference


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
