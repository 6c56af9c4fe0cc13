"""The packet box beside a lab: its process, and the attachment of a lab's node to it."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emulator.shaping.backend import Backend
from emulator.shaping.box.attachment import connect, report
from emulator.world.links import reshaping
from emulator.world.links.link import Link

from .lab import Lab

TBF = Backend(rate="tbf", delay="packets", loss="box", cut="nftables")
BARE = Backend(rate="box", delay="packets", loss="box", cut="nftables")
"""Of a kernel without tbf: the box shapes the rates."""

ATTACH = ("-m", "tests.netem.attaching")


@dataclass
class PacketBox:
    """The process of a box, and the lines that it has printed."""

    process: "subprocess.Popen[str]"
    path: Path
    lines: list[dict[str, Any]] = field(default_factory=list)

    def attach(
        self, here: Lab, link: Link, backend: Backend = TBF, *words: str, name: str = ""
    ) -> None:
        """Put the node of `here` behind `link`. The test fails if that fails."""
        done = self.attempt(here, link, backend, *words, name=name)
        assert done.returncode == 0, done.stderr

    def attempt(
        self,
        here: Lab,
        link: Link,
        backend: Backend = TBF,
        *words: str,
        name: str = "",
        program: Sequence[str] = ATTACH,
    ) -> "subprocess.CompletedProcess[str]":
        """Run the program that attaches the node of `here`."""
        line = self.words(here, link, backend, *words, name=name, program=program)
        return subprocess.run(line, capture_output=True, text=True)

    def words(
        self,
        here: Lab,
        link: Link,
        backend: Backend,
        *words: str,
        name: str = "",
        program: Sequence[str] = ATTACH,
    ) -> list[str]:
        """Return the words that attach the node of `here` from outside."""
        inside = ["ip", "netns", "exec", here.near, sys.executable, *program]
        options = {
            "--socket": str(self.path),
            "--name": name or here.near,
            "--link": json.dumps(reshaping.plain(link)),
            "--backend": json.dumps(backend.plain()),
        }
        return [*inside, *(word for pair in options.items() for word in pair), *words]

    def report(self, name: str) -> dict[str, Any]:
        """Return the counts of a link."""
        with connect(self.path) as box:
            return report(box, name)

    def line(self, what: str) -> dict[str, Any]:
        """Return the next line of a kind that the box prints."""
        assert self.process.stdout is not None
        for text in self.process.stdout:
            line: dict[str, Any] = json.loads(text)
            self.lines.append(line)
            if line["box"] == what:
                return line
        raise AssertionError(f"the box ended: {self.lines}")


@contextmanager
def packet_box(*words: str, seed: int = 7, files: int | None = None) -> Iterator[PacketBox]:
    """Run a box for the block, which may open `files` files; it must end by SIGTERM."""
    with tempfile.TemporaryDirectory(prefix="emulate-box-") as folder:
        path = Path(folder, "box")
        program = [sys.executable, "-m", "emulator.shaping.box", "--socket", str(path)]
        if files is not None:
            program = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", *program]
        process = subprocess.Popen(
            [*program, "--seed", str(seed), *words], stdout=subprocess.PIPE, text=True
        )
        box = PacketBox(process, path)
        try:
            box.line("ready")
            yield box
        finally:
            process.terminate()
            process.communicate(timeout=10)
