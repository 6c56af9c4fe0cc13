"""`emulate study`: play papers' comparisons in virtual time, and some in containers, too."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from ...errors import HostError, suggestion
from ...runs.folder import RUNS
from ..options import FORMAT_OPTIONS, PlayedBy, Printed, played_by, together
from ..output import console, table
from ..prepare.completed_words import study_names
from ..read.analysis_package import analysis
from ..read.pages import as_print, runs_readable

if TYPE_CHECKING:
    from ...sweeps.studies import Study


class _Pages(NamedTuple):
    """Where the results of studies go: into the pages in `docs`, and into the file `book`."""

    docs: Path | None
    book: Path | None
    prints: Printed

    def check(self, names: Iterable[str]) -> None:
        """Raise a click.BadParameter or an EmulatorError if the studies `names` cannot go there."""
        if self.book and self.book.suffix.lower() not in (".html", ".htm"):
            raise click.BadParameter(f"'{self.book}' must end in .html", param_hint="--book")
        if self.docs:
            with runs_readable():
                for name in names:
                    analysis("papers").check(name, self.docs)

    def publish(self, folders: Iterable[Path]) -> None:
        """Write the results of the studies in `folders`, and print the files of pages.

        Without `docs` the book has pages of these studies alone.
        """
        from tempfile import TemporaryDirectory  # late: the list of commands does without

        with TemporaryDirectory() as scratch, runs_readable():
            papers, docs = analysis("papers"), self.docs or Path(scratch)
            for folder in folders:
                made = papers.publish(folder, docs, as_print(self.prints))
                for file in made if self.docs else ():
                    click.echo(file)
            if self.book:
                click.echo(papers.write_book(docs, self.book))


@click.command(short_help="Play papers' comparisons in virtual time, on all cores.")
@click.argument("names", metavar="[NAME]…", nargs=-1, shell_complete=study_names)
@click.option("--all", "every", is_flag=True, help="Play every study.")
@click.option(
    "--quick",
    is_flag=True,
    help="Play the small version of each study that its file describes: the same code, sooner.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="ENTRY",
    help="Play this entry alone, for example --only ASGD. Repeatable.",
)
@click.option(
    "--add",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Add the entries of a file of your own to each study, for example with your codec.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder for the runs; several studies get a folder NAME each in it. "
    "runs/studies/NAME if not given, and with --quick runs/studies/NAME-quick.",
)
@played_by(
    help="Number of runs to play side by side; the number of cores if not given.",
)
@together(
    "pages",
    _Pages,
    click.option(
        "--docs",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        metavar="FOLDER",
        help="Put the results into the papers' pages in FOLDER/papers afterwards: verdicts, tables "
        "and figures.",
    ),
    click.option(
        "--book",
        type=click.Path(dir_okay=False, writable=True, path_type=Path),
        metavar="FILE.html",
        help="Write the papers' pages as one HTML file, with the figures inside.",
    ),
    FORMAT_OPTIONS,
)
def study(
    names: tuple[str, ...],
    every: bool,
    quick: bool,
    only: tuple[str, ...],
    add: Path | None,
    out: Path | None,
    by: PlayedBy,
    pages: _Pages,
) -> None:
    """Play the study NAME, a paper's comparison, in virtual time on all cores; or several.

    Some studies play their entries in containers, too: one run at a time, after all others. They
    need a Docker engine; without one --all leaves these studies out, and says so. --quick plays
    nothing in containers.

    Without NAME, list the studies: what is played of each, its verdict, and its question. Every
    variant that a study compares, for example an algorithm, is played once at each learning rate,
    and then at its best rate with all seeds.

    Finished runs are not played again: the same command goes on where it stopped, and runs that
    another study or sweep in runs/ has finished are taken over. In a checkout `--docs docs` then
    puts the results into the paper's page.

    The file of --add has entries as a study's file has them. They join all worlds of the study's
    first block, or those that the file names; paths count from the folder of the file:

    \b
    worlds: [200 devices]
    entries:
      half: {set: {training.codec: {kind: "./half.py:Half"}}, rates: [0.05, 0.1]}

    \b
    emulate study
    emulate study pulls
    emulate study headline --only ASGD --add mine.yaml
    emulate study headline --out runs/again --docs docs
    emulate study --all --cluster tcp://scheduler:8786
    emulate study --all --quick --book build/papers.html
    """
    from ...sweeps.players import players
    from ...sweeps.studies import STUDIES, play
    from ..watching.sweep_views import shown

    if not (names or every):
        _list()
        return
    studies = _chosen(tuple(STUDIES) if every else names, only, add, quick=quick)
    pages.check(studies)  # before hours of playing
    places = {_place(out, name, len(studies), quick=quick): each for name, each in studies.items()}
    places = _playable(places, every=every)
    rest = f"the same command goes on in {', '.join(map(str, places))}"
    with shown(console(stderr=True), rest, every=120) as view, players(*by) as here:
        for place, each in places.items():
            view.progress(f"{each.about}: into {place}")
        play(places, here, view, runs=RUNS, quick=quick)
    if pages.docs or pages.book:
        pages.publish(places)


def _chosen(
    names: Sequence[str], only: Sequence[str], add: Path | None, *, quick: bool
) -> "dict[str, Study]":
    """Return the studies called `names` with the entries to play, by name.

    A study without an entry of `only` is left out. Raises a click.BadParameter for unknown names.
    """
    from ...sweeps.studies import STUDIES, chosen

    for name in names:
        if name not in STUDIES:
            raise click.BadParameter(
                f"{name!r} is not {' or '.join(STUDIES)}{suggestion(name, STUDIES)}",
                param_hint="'NAME'",
            )
    entries = [entry for name in names for entry in STUDIES[name].entries]
    known = dict.fromkeys(name for entry in entries for name in (entry.name, entry.written))
    for name in only:
        if name not in known:
            raise click.BadParameter(
                f"{name!r} is not {' or '.join(known)}{suggestion(name, known)}",
                param_hint="'--only'",
            )
    studies = {name: chosen(name, only=only, add=add, quick=quick) for name in names}
    return {name: each for name, each in studies.items() if each.entries}


def _playable(studies: "dict[Path, Study]", *, every: bool) -> "dict[Path, Study]":
    """Return those of `studies`, by folder, that can be played or need not be.

    Without an engine, those with missing runs in containers are left out and named if `every`
    study is asked for. Raises HostError otherwise.
    """
    from ...sweeps.studies import points_to_play

    waiting = {
        folder: each
        for folder, each in studies.items()
        if each.in_containers and points_to_play(each, folder)
    }
    if not waiting:
        return studies
    from ...runtimes.docker.play_containers import require

    try:
        require()
    except HostError as error:
        if not every:
            raise
        names = ", ".join(each.name for each in waiting.values())
        click.echo(f"emulate: not played, as they need containers: {names}: {error}", err=True)
        return {folder: each for folder, each in studies.items() if folder not in waiting}
    return studies


def _place(out: Path | None, name: str, studies: int, *, quick: bool) -> Path:
    """Return the folder of the study `name`, one of so many `studies`."""
    folder = f"{name}-quick" if quick else name
    if out is None:
        return RUNS / "studies" / folder
    return out if studies == 1 else out / folder


def _list() -> None:
    """Print the studies, what is played of each, their verdicts and their questions."""
    from ...sweeps.studies import STUDIES, points_played

    shown = table("study", "paper", "played", "verdict", "question")
    with runs_readable():
        for name, each in STUDIES.items():
            folder = _place(None, name, 1, quick=False)
            played, of_all = points_played(each, folder)
            verdict = analysis("papers").verdict(folder)
            shown.add_row(name, each.paper, f"{played} of {of_all}", verdict, each.question)
    console().print(shown)
