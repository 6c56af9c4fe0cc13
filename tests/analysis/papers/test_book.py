"""The book of the papers: blocks of studies in their pages, a contents page, one HTML file."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from analysis import RunError
from analysis.papers import book, complete, publish, verdict, write_book
from analysis.papers.book import chapter, contents
from analysis.papers.declaration import declared, papers
from analysis.papers.host_measurements import MEASUREMENTS
from analysis.papers.markdown import BEGIN, END, block, replace
from analysis.pictures.picture_file import Print
from tests.analysis.drawn_figures import kept, labelled
from tests.fakes.runs.made_up_study import BETTER, Key, played, training
from tests.layers import ROOT

STUDIES = [name for names in papers().values() for name in names]
DENSE, SPARSE = training(BETTER, 100, 0), training(BETTER, 1, 2)
COMMAND = "emulate study headline --docs docs"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    entries: dict[Key, list[list[dict]]] = {
        ("200 devices", "ASGD", "0.005"): [DENSE] * 3,
        ("200 devices", "AdaComp 0.5 %", "0.1"): [SPARSE] * 3,
    }
    played_by = {"machine": "bench", "cores": 2, "version": "1.2", "commit": "0123456789abcdef"}
    return played(tmp_path / "study", "headline", entries, played=played_by)


# -- blocks ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_study_is_published_into_its_page(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = kept(monkeypatch)
    page, *figures = publish(folder, tmp_path)
    assert page == tmp_path / "papers" / "hardy-2017.md"
    assert [figure.name for figure in figures] == ["headline-pushed.png", "headline-both.png"]
    ends = {"Bytes pushed": [16_400, 640], "Bytes in both directions": [44_400, 28_640]}
    for figure, (label, bytes_at_the_end) in zip(figures, ends.items(), strict=True):
        _, panel = drawn[figure.name].axes
        lines = labelled(panel)
        assert panel.get_xlabel() == label
        assert list(lines) == ["ASGD", "AdaComp 0.5 %"]
        assert [line.get_xdata()[-1] for line in lines.values()] == bytes_at_the_end
    made = block(page, COMMAND)
    assert made
    assert made.startswith(
        f"## headline\n\n**{declared('headline').question}**\n\n**Verdict: partly.**"
    )
    pushed = declared("headline").claims["paper"]
    assert f"| {pushed.claim} | abstract | not | 25.6 ×; {pushed.reason} |" in made
    assert "](headline-pushed.png)" in made
    assert made.endswith("played on bench, 2 cores, by version 1.2, commit `0123456789ab`.")
    assert "learning rates tried with one seed: ASGD 0.005; AdaComp 0.5 % 0.1" in made
    assert "3 seeds" in made
    assert "times of a step: exponential, 1s" in made
    assert "| partly |" in (tmp_path / "papers" / "README.md").read_text()


def test_the_verdict_is_kept_until_the_study_changes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert verdict(folder) == "partly"
    with monkeypatch.context() as patched:
        patched.setattr("analysis.papers.judge", lambda results: pytest.fail("judged again"))
        assert verdict(folder) == "partly"
    note = folder / "study.json"
    note.write_text(note.read_text().replace("AdaComp 0.5 %", "AdaComp 2 %"))
    assert verdict(folder) == "not"
    (folder / "verdict.json").write_text("{")
    assert verdict(folder) == "not"


@pytest.mark.slow
def test_text_around_the_blocks_stays(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "papers" / "hardy-2017.md"
    page.parent.mkdir()
    page.write_text(f"# By hand\n\n{BEGIN.format(command=COMMAND)}\nFormer.\n{END}\n\nAfter.\n")
    publish(folder, tmp_path)
    publish(folder, tmp_path)
    text = page.read_text()
    assert text.startswith("# By hand\n\n<!-- made by")
    assert "<!-- to here -->\n\nAfter.\n" in text
    assert text.count("## headline\n") == 1
    assert "Former." not in text


def test_only_the_text_between_the_marks_is_replaced(tmp_path: Path) -> None:
    page, begin = tmp_path / "page.md", BEGIN.format(command="make x")
    page.write_text(f"before\n{begin}\nold\n{END}\nafter\n")
    replace(page, "make x", "new")
    replace(page, "make x", "newer")
    assert page.read_text() == f"before\n{begin}\n\nnewer\n\n{END}\nafter\n"
    page.write_text("no marks")
    with pytest.raises(RunError, match="has no place for the tables"):
        replace(page, "make x", "new")
    assert page.read_text() == "no marks"


def test_a_quick_study_says_so(folder: Path, tmp_path: Path) -> None:
    note = folder / "study.json"
    note.write_text(note.read_text().replace('"rows"', '"quick": true, "rows"', 1))
    page = publish(folder, tmp_path)[0]
    assert "**A smaller study, by `--quick`: its verdicts say little.**" in page.read_text()


@pytest.mark.slow
def test_figures_for_print_stand_beside_those_of_the_page(folder: Path, tmp_path: Path) -> None:
    publish(folder, tmp_path, Print(("pdf", "svg"), 3.3, 8))
    names = {path.name for path in (tmp_path / "papers").glob("headline-pushed.*")}
    assert names == {"headline-pushed.png", "headline-pushed.pdf", "headline-pushed.svg"}


def test_a_folder_without_a_finished_study_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no finished study"):
        publish(tmp_path, tmp_path)
    assert verdict(tmp_path) == ""
    assert list(tmp_path.iterdir()) == []


# -- the pages of this repository ------------------------------------------------------------------


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_has_a_block_in_the_page_of_its_paper(name: str) -> None:
    page = ROOT / "docs" / "papers" / f"{declared(name).paper}.md"
    made = block(page, f"emulate study {name} --docs docs")
    assert made
    assert made.startswith(book.heading(name))


@pytest.mark.parametrize("name", MEASUREMENTS)
def test_every_measurement_has_a_block_in_its_page(name: str) -> None:
    found = chapter(name, ROOT / "docs")
    assert found.made
    assert found.command.removeprefix("make ") + ":" in (ROOT / "Makefile").read_text()


def test_the_contents_page_follows_from_the_blocks() -> None:
    page = ROOT / "docs" / "papers" / book.CONTENTS
    assert block(page, "emulate study --all --docs docs") == contents(ROOT / "docs")


def test_a_study_that_was_not_played_says_so(tmp_path: Path) -> None:
    complete(tmp_path)
    for name in STUDIES:
        page = tmp_path / "papers" / f"{declared(name).paper}.md"
        assert chapter(name, tmp_path).not_played in page.read_text()
    lines = (tmp_path / "papers" / "README.md").read_text().splitlines()
    assert all(line.endswith("| not played yet |") for line in lines if line.startswith("| ["))


# -- one HTML file ---------------------------------------------------------------------------------


class Page(HTMLParser):
    """The parts of a page that tell whether it is whole."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.pictures: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        held = dict(attributes)
        self.ids += [str(held["id"])] if "id" in held else []
        self.links += [str(held["href"])] if "href" in held else []
        self.pictures += [str(held["src"])] if "src" in held else []


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = write_book(ROOT / "docs", tmp_path_factory.mktemp("book") / "book.html")
    return path.read_text()


def test_the_book_is_one_file_with_its_figures_inside(html: str) -> None:
    page = Page(html)
    assert len(page.pictures) > 5
    assert all(source.startswith("data:image/png;base64,") for source in page.pictures)
    assert "<!--" not in html


def test_every_link_of_the_book_leads_somewhere(html: str) -> None:
    page = Page(html)
    assert len(set(page.ids)) == len(page.ids)
    inside = {link.removeprefix("#") for link in page.links if link.startswith("#")}
    assert inside <= set(page.ids)
    assert {*STUDIES, *MEASUREMENTS} <= inside
    assert all("://" in link for link in page.links if not link.startswith("#"))


def test_tables_and_formulas_of_the_book_are_html(html: str) -> None:
    assert html.count("<table>") > 10
    assert not re.search(r"^\|", html, re.MULTILINE)


def test_blocks_of_other_pages_stand_in_the_chapter_of_their_paper(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    complete(docs)
    command = MEASUREMENTS["groups"].command
    (docs / "predict.md").write_text(f"# By hand\n\n{BEGIN.format(command=command)}\n{END}\n")
    book.write_block("groups", docs, "| g | s |\n|---|---|\n| 8 | 48.8 |")
    assert "](../predict.md#groups)" in (docs / "papers" / "README.md").read_text()
    text = write_book(docs, tmp_path / "book.html").read_text()
    omnivore, after = text.index('<section id="hadjis-2016">'), text.index('id="hardy-2017">')
    assert omnivore < text.index('<h2 id="groups">') < text.index("<td>48.8</td>") < after
    assert "By hand" not in text


def test_a_book_without_pages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no pages of a book"):
        write_book(tmp_path, tmp_path / "book.html")
    assert list(tmp_path.iterdir()) == []


def test_a_book_without_one_of_its_figures_is_refused(tmp_path: Path) -> None:
    book.write_block("pulls", tmp_path, "![a figure](missing.png)")
    with pytest.raises(RunError, match=r"missing\.png: cannot be read"):
        write_book(tmp_path, tmp_path / "book.html")
    assert not (tmp_path / "book.html").exists()
