"""The session of a run: locks the folder, describes the run, and concludes it at every end."""

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from hashlib import file_digest
from pathlib import Path
from shutil import disk_usage
from types import MappingProxyType, TracebackType
from typing import Any, Self

from ..core import wire
from ..core.zmtp import Form
from ..errors import DeploymentError, HostError
from ..learning.datasets import OwnDataset
from ..learning.datasets.split import Owners
from ..log.records import Record
from ..log.summary import RunFacts, summarise
from ..log.verdicts.packet_lateness import Shaped
from ..machine.host import Host
from ..machine.installed import versions
from ..scenario import Scenario, Timed
from ..scenario.timeline.compiled import to_jsonl
from ..scenario.unkept import unkept
from .cancel import Canceled, Cancellation, canceling
from .folder import RunFolder
from .plugin_sources import PluginSources, blamed, kept_scenario, plugin_sources
from .results import ModelOrigin, write_json

DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
"""Error numbers of a disk that takes no more bytes."""

LEAST_SPACE = 1 << 16
"""Free bytes below which a disk counts as full. NumPy and containers that fail for want of space
do not always report an error number."""


@dataclass(frozen=True)
class Ending:
    """The reason of a run's end that was not the scenario's stop condition."""

    reason: str
    """As in the log's last record: `canceled`, `stopped`, `failed`."""
    detail: str = ""

    def facts(self) -> dict[str, str]:
        """Return the fields of the log's last record, `stop`."""
        return {"reason": self.reason, **({"detail": self.detail} if self.detail else {})}


@dataclass
class Session:
    """A context in which a scenario is played into a folder.

        with Session(scenario, timeline, create(scenario.name), "docker") as session:
            with session.playing():
                session.describe(...)   # then build the world, play the scenario, remove the world
            session.conclude(...)       # runs at every end: success, cancellation, error
        return session.folder.path, session.summary

    While the context is open its folder is locked with the id of this process, and a signal in
    `playing` raises Canceled. A canceled run is no error. Any other error of `playing` is raised at
    the end of the context, after the caller has written the records and the summary.
    """

    scenario: Scenario
    """As resolved: calibrated laws filled in."""
    timeline: Sequence[Timed]
    """The compiled schedule; runtime, live view and folder use this object."""
    folder: RunFolder
    runtime: str
    """The runtime's name: `docker` or `virtual`."""
    ending: Ending | None = None
    """Set once `playing` is left; None if the run came to its own end."""
    summary: dict[str, Any] = field(default_factory=dict)
    """Content of `summary.json`, set by `conclude`."""
    model: ModelOrigin = ModelOrigin("none")
    """Origin of `model.npz`, for the summary."""
    resumable: bool = False
    """Whether `emulate resume` can go on with the run, which has failed."""
    notes: list[str] = field(default_factory=list)
    """Lines for people, printed with the error of the run."""
    _error: Exception | None = field(default=None, init=False)
    """Raised inside `playing`."""
    _report: Exception | None = field(default=None, init=False)
    """Stands for `_error` at the end of the context."""
    _held: ExitStack = field(default_factory=ExitStack, init=False)
    _cancellation: Cancellation = field(default_factory=Cancellation, init=False)

    def __enter__(self) -> Self:
        with ExitStack() as held:
            self._cancellation = held.enter_context(canceling())
            # `emulate stop` signals the holder of the lock, so the handlers come first
            held.enter_context(self.folder.taken())
            held.callback(self.folder.discard_work)
            self._held = held.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._held:
            if isinstance(error, Exception):
                self._raise_unfinished(error)
            elif error is None and self._report:
                for note in (f"what is known of the run is in {self.folder.path}", *self.notes):
                    self._report.add_note(note)
                raise self._report

    @contextmanager
    def playing(self, over: Callable[[], bool] = lambda: False) -> Iterator[None]:
        """Catch the error or signal that ends the run in this block, and keep the cause as
        `ending`.

        `over` tells whether the server has ended the run by itself: the run then keeps its own end,
        and signals are ignored as those after the block are.
        An Exception is held back until the end of the context. One that a full disk or a lost
        folder explains becomes a HostError. Signals after the block are ignored: the run is over,
        and its summary must be written.
        """
        self._cancellation.over = over
        try:
            yield
            self.ignore_signals()
        except Canceled as canceled:
            if not over():  # the server may have ended the run before it was told to
                self.ending = Ending(canceled.reason)
        except Exception as error:
            self.ignore_signals()
            self._hold(error)
            self.ending = Ending("failed", str(self._report))

    @contextmanager
    def adding(self) -> Iterator[None]:
        """Let a signal end this block, which adds results to a run that has ended.

        The run keeps its end. An Exception in the block is held back as in `playing`; after an
        error of the run it is a note to that error.
        """
        try:
            self._cancellation.listen()
            yield
            self.ignore_signals()
        except Canceled:
            pass
        except Exception as error:
            self.ignore_signals()
            if self._error is None:
                self._hold(error)
            else:
                self.notes.append(str(error))

    def _hold(self, error: Exception) -> None:
        """Hold `error` back until the end of the context."""
        self._error, self._report = error, blamed(self.scenario, error)
        if self._report is not error:
            self._report.__cause__ = error
        if unwritable := self._unwritable(error):
            self._report = unwritable
            unwritable.__cause__ = error

    def ignore_signals(self) -> None:
        """Ignore signals from here on: nothing is left to cancel."""
        self._cancellation.ignore()

    def _raise_unfinished(self, error: Exception) -> None:
        """Raise a HostError if `error`, raised while the run was concluded, is the disk's.

        Otherwise return, so that `error` itself is raised. The error of `playing` stays its cause.
        """
        unwritable = self._unwritable(error) if isinstance(error, OSError) else None
        report: Exception = unwritable or error
        before = None if isinstance(self._error, OSError) else self._error
        if before and str(before) != str(report):  # a changed log differs at each write
            report.add_note(f"before that: {self._error}")
        for note in self.notes:
            report.add_note(note)
        if report is not error:
            raise report from self._error or error
        if self._error and error is not self._error:
            error.__cause__ = self._error

    def _unwritable(self, error: Exception) -> HostError | None:
        """Return a HostError if a lost folder or a full disk explains `error`."""
        path = self.folder.path
        if not path.is_dir():
            return HostError(f"the run's folder {path} was moved or removed while the run went on")
        full = disk_usage(path).free < LEAST_SPACE
        if isinstance(error, OSError) and error.errno in DISK_ERRORS:
            reason = os.strerror(error.errno)
        elif isinstance(error, OSError | DeploymentError) and full:
            reason = os.strerror(errno.ENOSPC)
        else:
            return None
        return HostError(
            f"the run's folder {path} cannot be written: {reason}: make room, and `emulate report "
            f"{self.folder.run}` draws what was written before; or name another place with --runs"
        )

    def describe(self, host: Host, packages: Iterable[str], **facts: Any) -> None:
        """Write `scenario.yaml`, `timeline.jsonl`, `manifest.json` and the sources of plugins,
        before the world is built.

        The manifest holds `facts` of the runtime, and the versions of the `packages` that it uses.
        """
        folder = self.folder
        self.sources.write(folder.path)
        (folder.path / "scenario.yaml").write_text(
            kept_scenario(self.scenario, self.sources), encoding="utf-8"
        )
        folder.timeline.write_text(to_jsonl(self.timeline), encoding="utf-8")
        write_json(folder.path / "manifest.json", {**self._manifest(host, packages), **facts})

    @cached_property
    def sources(self) -> PluginSources:
        """Sources of the users' plugins of the run."""
        return plugin_sources(self.scenario, self.folder.path)

    def _manifest(self, host: Host, packages: Iterable[str]) -> dict[str, Any]:
        """Return the entries of the manifest that both runtimes write."""
        return {
            "id": self.folder.run,
            "scenario": self.scenario.name,
            "algorithm": self.scenario.described,
            "runtime": self.runtime,
            "started": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
            "versions": {
                "emulate": versions(["edge-emulate"])["edge-emulate"],
                **versions(packages),
            },
            "host": host.plain(),
            **self._data(),
            **self._initial(),
            **({"plugins": self.sources.plain()} if self.sources else {}),
            "not_kept": [ignored.plain() for ignored in unkept(self.scenario, self.runtime)],
        }

    def _data(self) -> dict[str, Any]:
        """Return the entries of data and of owners that are not shipped, or no entry."""
        if self.scenario.workload:
            return {}
        training, entries = self.scenario.training, dict[str, Any]()
        if isinstance(data := training.dataset, OwnDataset):
            files = {"file": data.file, "test_file": data.test_file, "sha256": data.sha256}
            entries["data"] = {key: value for key, value in files.items() if value is not None}
        if isinstance(split := training.split, Owners) and split.file is not None:
            entries["owners"] = {"file": split.file, "sha256": _sha256(split.file)}
        return entries

    def _initial(self) -> dict[str, Any]:
        """Return the entry of the saved model with which the training begins, or no entry."""
        initial = None if self.scenario.workload else self.scenario.training.initial
        if initial is None:
            return {}
        return {"initial": {"file": initial, "sha256": _sha256(initial)}}

    def conclude(
        self,
        records: Iterable[Record],
        *,
        left: Sequence[str] = (),
        shaped: Shaped | None = None,
        hosts: Mapping[str, Sequence[str]] = MappingProxyType({}),
        **known: Any,
    ) -> None:
        """Compute the summary of `records` in one pass, and write `summary.json`.

        `shaped`: the means by which links were delayed, None in virtual time. `left`: one line for
        each thing that could not be removed from the host. `hosts`: the devices of each host by its
        name, that of the server first; nothing for a run on one host. `known`: keys of an earlier
        summary of the run that stay as they are.
        """
        scenario = self.scenario
        facts = RunFacts(
            scenario=scenario.name,
            algorithm=scenario.described,
            seed=scenario.seed,
            runtime=self.runtime,
            devices=len(scenario.nodes),
            planned=(timed.record for timed in self.timeline),
            targets=map(float, scenario.targets),
            shaped=shaped,
            hosts=hosts,
            **_work_facts(scenario),
        )
        self.summary = summarise(records, facts)
        if self.runtime != "virtual" and scenario.time is not None:
            self.summary["fidelity"]["dilation"] = scenario.dilation
        self.summary["model"] = self.model.plain()
        self.summary |= known
        self.summary["left"] = list(left)
        if self.resumable:
            self.summary["resumable"] = True
        write_json(self.folder.path / "summary.json", self.summary)


def _work_facts(scenario: Scenario) -> dict[str, Any]:
    """Return the facts of a summary that depend on the kind of work."""
    if scenario.workload:
        return {"dense_push": 0, "dense_pull": 0, "workload": True}
    layout, form = scenario.training.device_layout, Form(scenario.server.encrypt)
    return {
        "dense_push": wire.dense_push(layout.size, form),
        "dense_pull": wire.dense_pull(layout.size, form),
        "trained": scenario.training.initial is not None,
        "parameters": layout.kinds,
    }


def _sha256(path: str) -> str:
    with Path(path).open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
