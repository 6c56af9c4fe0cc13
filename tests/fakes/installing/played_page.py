"""A page of the documentation as a reader uses it: its files, its programs, then its commands."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.layers import ROOT

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"`[^`\n]*?((?:profiles/)?[\w./-]+\.(?:py|yaml|json))[^`\n]*`")
_SCRIPT = re.compile(r"^(?:import emulator$|from emulator import )", re.MULTILINE)
"""A Python block that is typed as it stands, and no part of another file."""
_COMMAND = re.compile(r"^(?:    )?(emulate .+)$", re.MULTILINE)


@dataclass(frozen=True)
class PlayedPage:
    """A page of docs/, and what a reader has before its first command."""

    name: str
    prepare: Callable[[Path], None] = lambda folder: None
    """Writes into the reader's folder what the page takes as given."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Commands that are not played, each with its reason."""

    before: tuple[str, ...] = ()
    """Commands before those of the page, which make what it takes as given."""

    also: tuple[str, ...] = ()
    """Commands after those of the page, which try the files that it shows."""

    words: dict[str, str] = field(default_factory=dict)
    """What the reader types in the place of the page's words in capitals."""

    at: str = "docs"
    """Folder of the page in the repository."""

    @property
    def text(self) -> str:
        return (ROOT / self.at / self.name).read_text(encoding="utf-8")

    def files(self) -> dict[str, str]:
        """Return the files that the page shows, by their paths in the reader's folder.

        A block is the file that the paragraph before it names; a scenario is the file of its name.
        """
        files = {}
        for block in _FENCE.finditer(self.text):
            language, text = block.groups()
            paragraph = self.text[: block.start()].rstrip().rpartition("\n\n")[2]
            names = [name.removeprefix("./") for name in _FILE.findall(paragraph)]
            ending = {"python": ".py", "json": ".json"}.get(language, "\0")
            named = [name for name in names if name.endswith(ending)]
            if language == "yaml" and "description:" in text:
                named = [name for name in names if name.startswith("profiles/")]
            elif scenario := re.search(r"\A(?:#.*\n)*name: (\S+)$", text, re.MULTILINE):
                named = [f"{scenario[1]}.yaml"]
            if named and not named[0].startswith("emulator/"):
                files[named[0]] = text
        return files

    def commands(self) -> list[str]:
        """Return the commands that stand in lines of their own, without the remarks beside them."""
        return [re.split(r"\s{2,}", line)[0] for line in _COMMAND.findall(self.text)]

    def scripts(self) -> dict[str, str]:
        """Return the page's programs, by file names, in the order of the page."""
        blocks = [text for language, text in _FENCE.findall(self.text) if language == "python"]
        programs = filter(_SCRIPT.search, blocks)
        return {f"program_{number}.py": text for number, text in enumerate(programs, 1)}

    def lay_out(self, folder: Path) -> list[str]:
        """Write the files into `folder`; return the commands to play there."""
        self.prepare(folder)
        scripts = self.scripts()
        for name, text in {**self.files(), **scripts}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        commands = self.commands()
        assert self.left_out.keys() <= set(commands), "the page has other commands now"
        played = [self._typed(each) for each in commands if each not in self.left_out]
        return [*self.before, *(f"python {name}" for name in scripts), *played, *self.also]

    def _typed(self, command: str) -> str:
        """Return `command` with the reader's words."""
        return re.sub(r"\b[A-Z]+\b", lambda word: self.words.get(word[0], word[0]), command)
