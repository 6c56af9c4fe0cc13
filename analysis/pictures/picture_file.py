"""Pictures on disk: every PNG, SVG and PDF file is written here, with text of any letters.

matplotlib ships a single font. Letters that it lacks are drawn in other fonts of this machine, and
letters that no font has are written as their code point, `U+72D7`: a class stays legible without a
box or a warning.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from unicodedata import category, east_asian_width

from matplotlib import rc_context
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.category import StrCategoryFormatter
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager, get_font
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter, FuncFormatter

from .theme import FONT, style

SOFTWARE = "emulate"
"""Value of the chunk `Software`: `emulate` replaces a picture only if the picture has it."""

DPI = 160
"""Dots per inch of PNG files, and of pictures inside an SVG."""

FORMATS = ("png", "svg", "pdf")
"""Formats of pictures, by the endings of their files."""
_METADATA: dict[str, dict[str, str | None]] = {
    "png": {"Software": SOFTWARE},
    "svg": {"Creator": SOFTWARE, "Date": None},
    "pdf": {"Creator": SOFTWARE, "Producer": None, "CreationDate": None},
}
"""Metadata by format; without dates the same run has the same files."""

_OWN_FONT = "DejaVu Sans"
_PLAIN = 0x250
"""First code point that matplotlib's own font may lack; letters below it are printable in it."""
_LABEL, _TITLE = 28, 100
"""Largest widths of the label of a tick or a legend, and of another line of text, in columns."""


class Print(NamedTuple):
    """How pictures are written to files: their formats, and their size on paper."""

    formats: tuple[str, ...] = ("png",)
    width: float | None = None
    """Width in inches; None for the picture's own width."""
    font: float | None = None
    """Size of text in points; None for that of figures on a screen."""

    @property
    def style(self) -> Any:
        """Matplotlib's settings for pictures of this kind."""
        return style(self.font or FONT)

    def narrower(self, width: float) -> bool:
        """Return whether the width on paper is given, and below `width` inches."""
        return self.width is not None and self.width < width

    def size(self, width: float, height: float) -> tuple[float, float]:
        """Return the size in inches of a picture whose own size is `width` × `height`.

        A narrow picture is lower, too, though not by as much: rows and legends keep their heights.
        """
        if self.width is None:
            return width, height
        return self.width, height * (2 + self.width / width) / 3


@contextmanager
def sheet(
    path: Path, width: float, height: float, dpi: int = DPI, prints: Print | None = None
) -> Iterator[Figure]:
    """Yield an empty figure of this size in inches, which is written to `path` at the end.

    With `prints` its formats replace the ending of `path`, and its size takes precedence.
    """
    asked = prints or Print()
    with rc_context(asked.style):
        figure = Figure(figsize=asked.size(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure
        if prints is None:
            save_png(figure, path, dpi)
        else:
            save_all(figure, path, prints.formats, dpi)


def save_all(
    figure: Figure, path: Path, formats: Sequence[str], dpi: int = DPI, *, math: bool = False
) -> list[Path]:
    """Write `figure` in each of `formats`, beside `path` with their endings; return the paths."""
    # SVG first: for the others, letters without a font are rewritten
    ordered = sorted(formats, key=lambda form: form != "svg")
    made = {
        form: path.with_name(f"{path.name.removesuffix(path.suffix)}.{form}") for form in ordered
    }
    for file in made.values():
        save_picture(figure, file, dpi, math=math)
    return [made[form] for form in formats]


def save_png(figure: Figure, path: Path, dpi: int, *, math: bool = False) -> Path:
    """Write `figure` to `path` as PNG, as `save_picture` does."""
    return save_picture(figure, path, dpi, math=math)


def save_picture(figure: Figure, path: Path, dpi: int, *, math: bool = False) -> Path:
    """Write `figure` to `path` in one step, in the format of its ending; return `path`.

    Its folder is made, and a link at `path` is replaced, never written through. With `math`, text
    between dollar signs is a formula; without it, a dollar sign is a letter.
    """
    form = path.suffix.removeprefix(".")
    tidy_text(figure, math=math)
    if form != "svg":  # the reader of an SVG has fonts of their own
        _choose_fonts(figure)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as sink, fonts_missing():
        figure.savefig(sink, dpi=dpi, format=form, metadata=_METADATA[form])
    return path


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file that replaces `path` at the end of the block; an error leaves `path` alone.

    A link at `path` is replaced, and never written through.
    """
    part = path.with_name(f".{path.name[:200]}.part")
    part.unlink(missing_ok=True)  # which may be a link too
    try:
        with part.open("xb") as sink:
            yield sink
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def tidy_text(figure: Figure, *, math: bool = False) -> None:
    """Shorten long text in `figure`, and escape letters that cannot be drawn or written at all.

    Without `math`, dollar signs are letters. matplotlib's own labels of powers stay formulas.
    """
    _rewrite(figure, _drawable)
    for text in figure.findobj(Text):
        if not math and r"\mathdefault" not in text.get_text():
            text.set_parse_math(False)


@contextmanager
def fonts_missing() -> Iterator[None]:
    """Let text be laid out without a warning for each letter that matplotlib's font lacks."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        yield


def _drawable(text: str, width: int) -> str:
    """Return `text` in at most `width` columns, with `\\x00` for letters that are not printable."""
    if text.isascii() and len(text) <= width and text.isprintable():
        return text
    letters = [_escaped(letter) for letter in text]
    return "\n".join(_shortened(line, width) for line in "".join(letters).split("\n"))


def _escaped(letter: str) -> str:
    if letter == "\n" or category(letter) not in ("Cc", "Cs"):
        return letter
    if letter == "\t":
        return " "
    # Python reads a byte of a file name that is no UTF-8 as a surrogate
    code = ord(letter) - 0xDC00 if 0xDC80 <= ord(letter) <= 0xDCFF else ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _shortened(line: str, width: int) -> str:
    """Return `line`, with an ellipsis in its middle if it has more than `width` columns."""
    columns = [2 if east_asian_width(letter) in "WF" else 1 for letter in line]
    if sum(columns) <= width:
        return line
    end = _begin(line[::-1], columns[::-1], width // 2 - 1)[::-1]
    return f"{_begin(line, columns, width // 2)}…{end}"


def _begin(line: str, columns: list[int], width: int) -> str:
    """Return the letters of `line` that fit `width`; letter i takes `columns[i]`."""
    used = 0
    for place, column in enumerate(columns):
        used += column
        if used > width:
            return line[:place]
    return line


def _choose_fonts(figure: Figure) -> None:
    """Give text in `figure` fonts that have its letters; rewrite letters that no font has."""
    texts = [*figure.findobj(Text), *(label for axis in _axes(figure) for label in _labels(axis))]
    letters = {ord(letter) for text in texts for letter in text.get_text() if ord(letter) >= _PLAIN}
    rare = letters - _covered(_OWN_FONT)
    if not rare:
        return
    families, found = [_OWN_FONT], set[int]()
    for family in _families():
        if more := (rare - found) & _covered(family):
            families.append(family)
            found |= more
        if found == rare:
            break
    for text in texts:
        text.set_fontfamily(families)
    missing = rare - found
    if missing:
        _rewrite(figure, lambda text, width: _shortened(_code_points(text, missing), width))


def _code_points(text: str, missing: set[int]) -> str:
    return "".join(f"U+{ord(a):04X} " if ord(a) in missing else a for a in text).rstrip()


@cache
def _families() -> list[str]:
    """Return the families of this machine's fonts, sans-serif ones first."""
    names = {font.name for font in fontManager.ttflist} - {_OWN_FONT}
    return sorted(names, key=lambda name: ("Sans" not in name, name))


@cache
def _covered(family: str) -> frozenset[int]:
    """Return the code points that a font of `family` has."""
    files = [font.fname for font in fontManager.ttflist if font.name == family]
    try:
        return frozenset(get_font(files[0]).get_charmap()) if files else frozenset()
    except (OSError, RuntimeError):
        return frozenset()


def _rewrite(figure: Figure, change: Callable[[str, int], str]) -> None:
    """Replace each text in `figure` by `change` of the text and of its largest width."""
    ticks: set[int] = set()
    for axis in _axes(figure):
        labels = _labels(axis)
        ticks |= set(map(id, labels))
        made: Any = axis.get_major_formatter()
        # other formatters write numbers, and know more than their texts
        if isinstance(made, FixedFormatter | FuncFormatter | StrCategoryFormatter) and any(
            change(label.get_text(), _LABEL) != label.get_text() for label in labels
        ):
            axis.set_major_formatter(FuncFormatter(_changed(made, change)))
    legends = {id(text) for legend in _legends(figure) for text in legend.get_texts()}
    for text in figure.findobj(Text):
        if id(text) not in ticks and (old := text.get_text()):
            new = change(old, _LABEL * 2 if id(text) in legends else _TITLE)
            if new != old:
                text.set_text(new)


def _changed(made: Any, change: Callable[[str, int], str]) -> Callable[[float, int | None], str]:
    return lambda value, place: change(made(value, place), _LABEL)


def _axes(figure: Figure) -> list[Axis]:
    return [axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)]


def _labels(axis: Axis) -> list[Text]:
    return list(axis.get_ticklabels())


def _legends(figure: Figure) -> list[Any]:
    own = [ax.get_legend() for ax in figure.axes]
    return [legend for legend in (*own, *figure.legends) if legend is not None]
