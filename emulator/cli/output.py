"""Standard output and error that take every letter, and survive the end of their reader.

A reader goes away, for example, with `emulate run FILE | head`, or with a terminal that is closed
under `nohup`. A disk that is full ends no run, and is told at its end. Tables on the console are
wide enough for their texts with or without a terminal.
"""

import codecs
import errno
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

import click

from ..errors import HostError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_PLAIN = {
    "…": "...",
    "–": "-",
    "—": "-",
    "·": "-",
    "•": "*",
    "×": "x",
    "→": "->",
    "←": "<-",
    "►": ">",
    "▶": ">",
    "≤": "<=",
    "≥": ">=",
    "≈": "~",
    "±": "+-",
    "’": "'",
    "‘": "'",
    "“": '"',
    "”": '"',
    "°": " deg",
    "µ": "u",
    "μ": "u",
    "σ": "sigma",
    "α": "alpha",
    "θ": "theta",
    "─": "-",
    "━": "-",
    "│": "|",
    "┃": "|",
    "█": "#",
    "▌": "#",
    "░": ".",
    "▒": "-",
    "✓": "ok",
    "✗": "x",
    "\u00a0": " ",
    "\u202f": " ",
    "\u2009": " ",
}
"""Signs of this program, for terminals that lack them."""
_ERRORS = "emulate-plain"


def _spelled(error: UnicodeError) -> tuple[str, int]:
    """Return letters in place of those that an encoding lacks, and where they end.

    A name's letter becomes its code point, as `\\u65e5`; a byte of a file name that is no UTF-8 is
    written as `\\xe9`.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = []
    for letter in error.object[error.start : error.end]:
        if 0xDC80 <= ord(letter) <= 0xDCFF:
            found.append(f"\\x{ord(letter) - 0xDC00:02x}")
        else:
            found.append(_PLAIN.get(letter) or letter.encode("ascii", "backslashreplace").decode())
    return "".join(found), error.end


codecs.register_error(_ERRORS, _spelled)


def take_every_letter() -> None:
    """Let standard output and error take text of any letters, whatever the locale."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=_ERRORS)


class Renaming:
    """A text stream that writes each text after a change."""

    def __init__(self, stream: TextIO, change: Callable[[str], str]) -> None:
        self._stream, self._change = stream, change

    def write(self, text: str) -> int:
        self._stream.write(self._change(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def renaming(change: Callable[[str], str]) -> Iterator[None]:
    """Change each text for standard output and error inside the block."""
    before: Any = sys.stdout, sys.stderr
    changed: Any = [stream and Renaming(stream, change) for stream in before]
    sys.stdout, sys.stderr = changed
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


_echoed = False


def echo_json(content: Any, **how: Any) -> None:
    """Print `content` as the JSON of a command with `--json`; `how` is for `json.dumps`."""
    global _echoed
    _echoed = True
    click.echo(json.dumps(content, **{"indent": 2, **how}))


def tell_step(step: str) -> None:
    """Print on standard error the `step` that begins, as `compiling ...`."""
    click.echo(f"{step} ...", err=True)


def emit(as_json: bool, plain: Any, show: Callable[[], object], **how: Any) -> None:
    """Print what a command has found: `plain` with `--json`, else by calling `show`.

    A callable `plain` is called for the JSON only; `how` is for `json.dumps`.
    """
    if as_json:
        echo_json(plain() if callable(plain) else plain, **how)
    else:
        show()


def json_echoed(*, forget: bool = False) -> bool:
    """Return whether `echo_json` has printed the JSON of this command; `forget` begins anew."""
    global _echoed
    echoed, _echoed = _echoed, _echoed and not forget
    return echoed


def flush_output() -> None:
    """Write the rest of standard output. Raises HostError if its file takes no more."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
    except OSError as error:
        discard_output()
        raise unwritable(error) from error


def discard_output() -> None:
    """Send the rest of standard output to nowhere: the interpreter's last flush would fail."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        return


def unwritable(error: OSError) -> HostError:
    """Return the error for a standard output that cannot be written because of `error`."""
    return HostError(f"standard output cannot be written: {error.strerror}")


_GONE = (errno.EPIPE, errno.EIO)
"""Error numbers of a write to a pipe without a reader, and to a closed terminal."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Error numbers of a write to a file on a full disk, or beyond a quota."""


class Enduring:
    """A text stream that discards output after the reader is gone."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.lost: OSError | None = None
        """Error of a full disk, after which output was lost."""

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError as error:
            self._discard(error)
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            self._discard(error)

    def _discard(self, error: OSError) -> None:
        """Redirect the stream to /dev/null after `error`; raise an unknown error again.

        Without the redirection the stream would try to write its buffer again and again.
        """
        if error.errno in FULL:
            self.lost = error
        elif error.errno not in _GONE:
            raise error
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def enduring() -> Iterator[None]:
    """Keep `sys.stdout` and `sys.stderr` writable inside the block, with or without a reader.

    Raises HostError after the block, also in place of an exit, if a full disk has lost output; the
    exit code of a failure stays.
    """
    before = sys.stdout, sys.stderr
    if None in before:  # closed from the beginning: Python and click handle this case
        yield
        return
    enduring = [Enduring(stream) for stream in before]
    end: SystemExit | None = None
    sys.stdout, sys.stderr = enduring
    try:
        yield
    except SystemExit as error:
        end = error
    finally:
        sys.stdout.flush()
        sys.stdout, sys.stderr = before
    if lost := enduring[0].lost:
        failure = unwritable(lost)
        if end is not None and isinstance(end.code, int):
            failure.exit_code = end.code or failure.exit_code
        raise failure
    if end is not None:
        raise end


def warn(texts: Iterable[str]) -> None:
    """Print the warnings `texts` on standard error, each once."""
    for text in dict.fromkeys(texts):
        click.echo(f"warning {text}", err=True)


# -- consoles and tables --------------------------------------------------------------------------

WIDE = 160
"""Width of the output in characters when a file or a pipe takes it."""


def console(*, stderr: bool = False) -> "Console":
    """Return a console for standard output, or for standard error, with literal texts.

    Names and values of a scenario may hold `[red]` or `:pizza:`, which rich would read as a style
    and as an emoji. The emulator's own styled texts are `Text` objects.
    """
    from rich.console import Console

    literal: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}
    terminal = Console(stderr=stderr, **literal)
    return terminal if terminal.is_terminal else Console(stderr=stderr, width=WIDE, **literal)


def table(*columns: str, title: str | None = None) -> "Table":
    """Return an empty table without lines, whose cells wrap instead of being cut.

    It is at least as wide as its title.
    """
    from rich.table import Table

    empty = Table(box=None, title=title, title_justify="left", title_style="bold", pad_edge=False)
    empty.min_width = len(title or "")
    empty.padding = (0, 2, 0, 0)
    for column in columns:
        empty.add_column(column, overflow="fold", header_style="dim")
    return empty
