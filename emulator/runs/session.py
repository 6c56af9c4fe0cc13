"""What every runtime's session is: a folder taken, described, played into, and concluded."""

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from shutil import disk_usage
from typing import Any, NoReturn

from .. import models
from ..core import wire
from ..errors import DeploymentError, HostError
from ..log.summary import summarise
from ..log.writing import Record
from ..machine.host import Host
from ..machine.installed import versions
from ..scenario import Scenario, Timed, dump
from ..scenario.timeline import lines
from ..scenario.unkept import unkept
from .cancel import Canceled, canceling
from .folder import RunFolder
from .results import write_json

DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
"""What the system says of a disk that takes nothing any more."""

LEAST_SPACE = 1 << 16
"""Bytes that are free on a disk that is not full. NumPy and containers do not say it in so many
words when they fail for want of space."""


@dataclass(frozen=True)
class Ending:
    """Why the conductor, not the scenario's stop condition, ended the run."""

    reason: str
    """As in the log's last record: `canceled`, `stopped`, `failed`."""
    detail: str = ""

    def facts(self) -> dict[str, str]:
        """Return the facts of the log's last record, `stop`."""
        return {"reason": self.reason, **({"detail": self.detail} if self.detail else {})}


@dataclass(frozen=True)
class Session:
    """One scenario, as resolved, that is played into one folder."""

    scenario: Scenario
    timeline: Sequence[Timed]
    folder: RunFolder
    runtime: str
    """The runtime's name, as `docker`."""

    def play(
        self,
        world: Callable[[], None],
        finish: Callable[[Ending | None], dict[str, Any]],
    ) -> tuple[Path, dict[str, Any]]:
        """Let `world` happen, then `finish`, whatever happened; the folder and the summary.

        `finish` is told what ended the run, None if it came to its own end; it writes what
        remains and returns `conclude`'s summary. Whoever cancels the run makes no error; what
        goes wrong in `world` is raised once `finish` has saved all that is known. A HostError
        says that the folder cannot be written any more.
        """
        ending: Ending | None = None
        with self._taken() as reason:
            try:
                world()
            except Canceled:
                ending = Ending(reason[0])
            except Exception as error:
                self._give_up(error, finish)
            try:
                return self.folder.path, finish(ending)
            except OSError as error:
                if unwritable := self._unwritable(error):
                    raise unwritable from error
                raise

    def _give_up(
        self, error: Exception, finish: Callable[[Ending | None], dict[str, Any]]
    ) -> NoReturn:
        """Raise what went wrong in the world, after `finish` has saved what can be saved."""
        said = self._unwritable(error) or error
        try:
            finish(Ending("failed", str(said)))
            said.add_note(f"what is known of the run is in {self.folder.path}")
        except OSError as again:
            said = self._unwritable(again) or again
            if not isinstance(error, OSError):
                said.add_note(f"before that: {error}")
        if said is error:
            raise error
        raise said from error

    def _unwritable(self, error: Exception) -> HostError | None:
        """Return what is wrong with the folder or its disk; None if that is not why."""
        path = self.folder.path
        if not path.is_dir():
            return HostError(f"the run's folder {path} was moved or removed while the run went on")
        full = disk_usage(path).free < LEAST_SPACE
        if isinstance(error, OSError) and error.errno in DISK:
            why = os.strerror(error.errno)
        elif isinstance(error, OSError | DeploymentError) and full:
            why = os.strerror(errno.ENOSPC)
        else:
            return None
        return HostError(
            f"the run's folder {path} cannot be written: {why}: make room, and `emulate report "
            f"{self.folder.run}` draws what was written before; or name another place with --runs"
        )

    @contextmanager
    def _taken(self) -> Iterator[list[str]]:
        with canceling() as reason, self.folder.taken():
            # from now on others know whom to signal, and the signals are understood
            try:
                yield reason
            finally:
                self.folder.discard_work()

    def describe(self, host: Host, packages: Iterable[str], **facts: Any) -> None:
        """Write what is known before anything happens: the scenario, the timeline, the manifest.

        The manifest holds `facts` beside what every runtime can say, as the versions of the
        `packages` that it used.
        """
        folder = self.folder
        (folder.path / "scenario.yaml").write_text(dump(self.scenario))
        folder.timeline.write_text(lines(self.timeline))
        write_json(folder.path / "manifest.json", {**self._made_with(host, packages), **facts})

    def _made_with(self, host: Host, packages: Iterable[str]) -> dict[str, Any]:
        return {
            "id": self.folder.run,
            "scenario": self.scenario.name,
            "algorithm": self.scenario.training.described,
            "runtime": self.runtime,
            "started": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
            "versions": {
                "emulate": versions(["edge-emulate"])["edge-emulate"],
                **versions(packages),
            },
            "host": host.plain(),
            "not_kept": [one.plain() for one in unkept(self.scenario, self.runtime)],
        }

    def conclude(
        self,
        records: Iterable[Record],
        *,
        busy: Sequence[float] = (),
        quotas: bool = False,
        left: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Write the summary of these records, which are read once, and return it.

        `busy` and `quotas` as `summarise` takes them: nothing where there is no host to keep up.
        `left`: what of the run could not be removed from the host, a line each.
        """
        scenario = self.scenario
        layout = models.find(scenario.training.model).layout
        summary = summarise(
            records,
            scenario=scenario.name,
            algorithm=scenario.training.described,
            seed=scenario.seed,
            runtime=self.runtime,
            devices=len(scenario.nodes),
            dense_push=wire.dense_push(layout.size, encrypted=scenario.server.encrypt),
            planned=({"at": timed.at, "verb": timed.action.verb} for timed in self.timeline),
            targets=map(float, scenario.targets),
            busy=busy,
            quotas=quotas,
            parameters=layout.kinds,
        )
        summary["left"] = list(left)
        write_json(self.folder.path / "summary.json", summary)
        return summary
