"""The book of the papers: a page for each paper, a contents page, and one self-contained HTML file.

A page has a block for each study between marks, which `publish` writes; text around the blocks is
written by hand. Blocks of measurements may stand in other pages of the documentation. The contents
page says each verdict as the block says it.
"""

import base64
import re
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path

from markdown_it import MarkdownIt

from ..errors import RunError
from ..pages import page
from .declaration import declared, papers
from .host_measurements import MEASUREMENTS
from .markdown import BEGIN, END, block, replace, table

CONTENTS = "README.md"
"""Contents page in the folder of the book."""
NOT_YET = "not played yet"
_WITHOUT = "without a verdict"
"""Word for a block that says no verdict."""

_COMMAND = "emulate study {name} --docs docs"
"""Command that the marks of a study's block name."""
_CONTENTS_COMMAND = "emulate study --all --docs docs"
_VERDICT = re.compile(r"^\*\*Verdict: ([^.*]+)\.\*\*", re.MULTILINE)
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Chapter:
    """A study or a measurement in the book, and the place of its block."""

    name: str
    question: str
    file: Path
    """Page with the block."""
    command: str
    """Command that writes the block, as its marks say."""
    play: str
    """Command that plays the study, or takes the measurement."""

    @property
    def heading(self) -> str:
        """First lines of the block: the name, and the question."""
        return f"## {self.name}\n\n**{self.question}**"

    @property
    def not_played(self) -> str:
        """The block before anything was played."""
        return f"{self.heading}\n\n**Verdict: {NOT_YET}.** {self.play}"

    @property
    def made(self) -> str:
        """The block as it stands in the page; "" without one."""
        return (block(self.file, self.command) or "") if self.file.exists() else ""

    @property
    def verdict(self) -> str:
        found = _VERDICT.search(self.made)
        return found[1] if found else _WITHOUT if self.made else NOT_YET


def chapters(paper: str, docs: Path) -> list[Chapter]:
    """Return the studies and measurements of `paper` in the documentation `docs`."""
    studies = [
        Chapter(
            name,
            declared(name).question,
            page_of(name, docs),
            _COMMAND.format(name=name),
            f"`emulate study {name}` plays the study.",
        )
        for name in papers()[paper]
    ]
    measured = [
        Chapter(m.name, m.question, docs / m.page, m.command, f"`{m.command}` measures it.")
        for m in MEASUREMENTS.values()
        if m.paper == paper
    ]
    return [*studies, *measured]


def page_of(name: str, docs: Path) -> Path:
    """Return the page of the paper of the study `name` in the documentation `docs`."""
    return docs / "papers" / f"{declared(name).paper}.md"


def chapter(name: str, docs: Path) -> Chapter:
    """Return the study or measurement `name`."""
    paper = MEASUREMENTS[name].paper if name in MEASUREMENTS else declared(name).paper
    return next(found for found in chapters(paper, docs) if found.name == name)


def heading(name: str) -> str:
    """Return the first lines of the block of the study or measurement `name`."""
    return chapter(name, Path()).heading


def write_block(name: str, docs: Path, made: str) -> Path:
    """Write `made` as the block of the study or measurement `name`, and return the page.

    The rest of the book follows. Raises RunError if a file cannot be read or written.
    """
    complete(docs)
    found = chapter(name, docs)
    replace(found.file, found.command, made)
    _write_contents(docs)
    return found.file


def complete(docs: Path) -> None:
    """Add what the book in `docs` lacks: pages, blocks, and the contents page.

    A block is added at the end of its page, and says that nothing was played yet. Raises RunError
    if a file cannot be read or written.
    """
    for found in (found for paper in papers() for found in chapters(paper, docs)):
        if found.file.parent != docs / "papers":
            continue  # a page of the documentation beside the book
        if not found.file.exists():
            _begin(found.file, f"# {found.file.stem}")
        if block(found.file, found.command) is None:
            _append(found.file, f"\n{BEGIN.format(command=found.command)}\n{END}\n")
            replace(found.file, found.command, found.not_played)
    _write_contents(docs)


def _write_contents(docs: Path) -> None:
    """Write the contents page of the book in `docs`."""
    file = docs / "papers" / CONTENTS
    if not file.exists():
        begin = BEGIN.format(command=_CONTENTS_COMMAND)
        _begin(file, f"# The papers' claims, reproduced\n\n{begin}\n{END}")
    replace(file, _CONTENTS_COMMAND, contents(docs))


def contents(docs: Path) -> str:
    """Return the table of contents of the book in `docs`: a line for each chapter."""
    lines = [
        [
            f"[{_title(docs, paper)}]({paper}.md)",
            f"[{found.name}]({relpath(found.file, docs / 'papers')}#{found.name})",
            found.question,
            found.verdict,
        ]
        for paper in papers()
        for found in chapters(paper, docs)
    ]
    return table(["paper", "study", "question", "verdict"], lines, numbers=False)


def _title(docs: Path, paper: str) -> str:
    file = docs / "papers" / f"{paper}.md"
    found = _TITLE.search(_text(file)) if file.exists() else None
    return found[1] if found else paper


def _begin(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise RunError(f"{file}: cannot be written: {error.strerror}") from error


def _append(file: Path, text: str) -> None:
    try:
        with file.open("a", encoding="utf-8") as sink:
            sink.write(text)
    except OSError as error:
        raise RunError(f"{file}: cannot be written: {error.strerror}") from error


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"{file}: cannot be read: {error}") from error


# -- one HTML file ---------------------------------------------------------------------------------

_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
_PICTURE = re.compile(r'<img src="([^":]+)"')
_MARK = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_HEADING = re.compile(r"<h2>(.*?)</h2>")


def write_book(docs: Path, path: Path) -> Path:
    """Write the pages of the book in `docs` as one HTML file with its figures inside.

    Blocks on other pages of the documentation follow the page of their paper. Raises RunError if
    there is no book in `docs`, or if a figure is missing.
    """
    folder = docs / "papers"
    pages = [file for name in papers() if (file := folder / f"{name}.md").exists()]
    if not pages:
        raise RunError(f"{folder}: no pages of a book: play a study with --docs first")
    listed, sections, first = [], [], folder / CONTENTS
    if first.exists():
        sections.append((first.stem, _html(_text(first), folder)))
    for file in pages:
        beside = [found for found in chapters(file.stem, docs) if found.file != file]
        text, parts = _text(file), [_html(_whole(found), found.file.parent) for found in beside]
        sections.append((file.stem, "\n".join([_html(text, folder), *parts])))
        names = [*re.findall(r"^## (.+)$", text, re.MULTILINE), *(found.name for found in beside)]
        heads = [(_anchor(name), name) for name in names]
        listed.append((file.stem, _title(docs, file.stem), heads))
    return page.write("book.html", path, sections=sections, chapters=listed, title="The papers")


def _whole(found: Chapter) -> str:
    """Return the block of a chapter with its heading."""
    made = found.made or found.not_played
    return made if made.startswith("## ") else f"{found.heading}\n\n{made}"


def _html(text: str, folder: Path) -> str:
    """Return the Markdown `text` of a page in `folder` as HTML, with its figures inside."""
    plain = _LINK.sub(_inside, _MARK.sub("", text))
    made = MarkdownIt("commonmark", {"html": False}).enable("table").render(plain)
    made = _HEADING.sub(lambda found: f'<h2 id="{_anchor(found[1])}">{found[1]}</h2>', made)
    made = made.replace("<table>", '<div class="wide"><table>').replace(
        "</table>", "</table></div>"
    )
    return _PICTURE.sub(lambda found: f'<img src="{_data(folder, found[1])}"', made)


def _inside(found: re.Match[str]) -> str:
    """Return a link to another page of the book as one inside the file, and others as they are.

    A link to a page outside of the book is its text alone, unless it leads to a block of the book.
    """
    text, target = found[1], found[2]
    if "://" in target:
        return found[0]
    name, _, place = target.partition("#")
    if place in MEASUREMENTS:
        return f"[{text}](#{place})"
    if "/" in name or (name and not name.endswith(".md")):
        return text
    return f"[{text}](#{place or Path(name).stem})"


def _anchor(text: str) -> str:
    return re.sub(r"[^\w-]+", "-", text.lower()).strip("-")


def _data(folder: Path, name: str) -> str:
    """Return the picture `name` as a URL with its data."""
    try:
        content = (folder / name).read_bytes()
    except OSError as error:
        raise RunError(f"{folder / name}: cannot be read: {error.strerror}") from error
    kind = "svg+xml" if name.endswith(".svg") else "png"
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
