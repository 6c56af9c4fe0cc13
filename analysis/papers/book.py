"""The book of the papers: a page for each paper, a contents page, and one self-contained HTML file.

A page has a block for each study between marks, which `publish` writes; text around the blocks is
written by hand. The contents page says each study's verdict as its block says it.
"""

import base64
import re
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

from ..errors import RunError
from ..pages import page
from .declaration import declared, papers
from .markdown import BEGIN, END, block, replace, table

CONTENTS = "README.md"
"""Contents page in the folder of the book."""
NOT_YET = "not played yet"

_COMMAND = "emulate study {name} --docs docs"
"""Command that the marks of a study's block name."""
_CONTENTS_COMMAND = "emulate study --all --docs docs"
_VERDICT = re.compile(r"^\*\*Verdict: ([^.*]+)\.\*\*", re.MULTILINE)
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Chapter:
    """A study in the book."""

    name: str
    question: str
    verdict: str


def page_of(name: str, docs: Path) -> Path:
    """Return the page of the paper of the study `name` in the documentation `docs`."""
    return docs / "papers" / f"{declared(name).paper}.md"


def heading(name: str) -> str:
    """Return the first lines of a study's block: its name, and its question."""
    return f"## {name}\n\n**{declared(name).question}**"


def write_block(name: str, docs: Path, made: str) -> Path:
    """Write `made` as the block of the study `name` into its page, and return the page.

    The rest of the book follows. Raises RunError if a file cannot be read or written.
    """
    complete(docs)
    file = page_of(name, docs)
    replace(file, _COMMAND.format(name=name), made)
    _write_contents(docs)
    return file


def complete(docs: Path) -> None:
    """Add what the book in `docs` lacks: pages, blocks of studies, and the contents page.

    A block is added at the end of its page, and says that the study was not played yet. Raises
    RunError if a file cannot be read or written.
    """
    for name in (name for names in papers().values() for name in names):
        file, command = page_of(name, docs), _COMMAND.format(name=name)
        if not file.exists():
            _begin(file, f"# {file.stem}")
        if block(file, command) is None:
            _append(file, f"\n{BEGIN.format(command=command)}\n{END}\n")
            replace(file, command, not_played(name))
    _write_contents(docs)


def _write_contents(docs: Path) -> None:
    """Write the contents page of the book in `docs`."""
    file = docs / "papers" / CONTENTS
    if not file.exists():
        begin = BEGIN.format(command=_CONTENTS_COMMAND)
        _begin(file, f"# The papers' claims, reproduced\n\n{begin}\n{END}")
    replace(file, _CONTENTS_COMMAND, contents(docs))


def contents(docs: Path) -> str:
    """Return the table of contents of the book in `docs`: a line for each study."""
    lines = [
        [
            f"[{_title(docs, paper)}]({paper}.md)",
            f"[{chapter.name}]({paper}.md#{chapter.name})",
            chapter.question,
            chapter.verdict,
        ]
        for paper, names in papers().items()
        for chapter in (_chapter(name, docs) for name in names)
    ]
    return table(["paper", "study", "question", "verdict"], lines, numbers=False)


def _chapter(name: str, docs: Path) -> Chapter:
    file = page_of(name, docs)
    made = (block(file, _COMMAND.format(name=name)) or "") if file.exists() else ""
    found = _VERDICT.search(made)
    return Chapter(name, declared(name).question, found[1] if found else NOT_YET)


def not_played(name: str) -> str:
    """Return the block of a study that was not played yet."""
    return f"{heading(name)}\n\n**Verdict: {NOT_YET}.** `emulate study {name}` plays the study."


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

    Raises RunError if there is no book in `docs`, or if a figure is missing.
    """
    folder = docs / "papers"
    pages = [file for name in papers() if (file := folder / f"{name}.md").exists()]
    if not pages:
        raise RunError(f"{folder}: no pages of a book: play a study with --docs first")
    sections = [_section(file) for file in (folder / CONTENTS, *pages) if file.exists()]
    chapters = [(file.stem, _title(docs, file.stem), _headings(file)) for file in pages]
    return page.write("book.html", path, sections=sections, chapters=chapters, title="The papers")


def _section(file: Path) -> tuple[str, str]:
    """Return the name of a page and its HTML."""
    text = _LINK.sub(_inside, _MARK.sub("", _text(file)))
    made = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    made = _HEADING.sub(lambda found: f'<h2 id="{_anchor(found[1])}">{found[1]}</h2>', made)
    made = made.replace("<table>", '<div class="wide"><table>').replace(
        "</table>", "</table></div>"
    )
    return file.stem, _PICTURE.sub(lambda found: f'<img src="{_data(file.parent, found[1])}"', made)


def _inside(found: re.Match[str]) -> str:
    """Return a link to another page of the book as one inside the file, and others as they are.

    A link to a page outside of the book is its text alone.
    """
    text, target = found[1], found[2]
    if "://" in target:
        return found[0]
    name, _, place = target.partition("#")
    if "/" in name or (name and not name.endswith(".md")):
        return text
    return f"[{text}](#{place or Path(name).stem})"


def _anchor(text: str) -> str:
    return re.sub(r"[^\w-]+", "-", text.lower()).strip("-")


def _headings(file: Path) -> list[tuple[str, str]]:
    """Return the headings of the studies of a page, each with its anchor."""
    found = re.findall(r"^## (.+)$", _text(file), re.MULTILINE)
    return [(_anchor(text), text) for text in found]


def _data(folder: Path, name: str) -> str:
    """Return the picture `name` as a URL with its data."""
    try:
        content = (folder / name).read_bytes()
    except OSError as error:
        raise RunError(f"{folder / name}: cannot be read: {error.strerror}") from error
    kind = "svg+xml" if name.endswith(".svg") else "png"
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
