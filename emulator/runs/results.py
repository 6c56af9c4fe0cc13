"""Completes the folder of a run from the files of the nodes, and writes the JSON files in it."""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, BinaryIO, Literal, NamedTuple

from ..errors import EmulatorError
from ..log.lines import line, parse
from ..log.merging import merge
from ..log.records import EvaluationRecord, StartRecord, StopRecord, UnmeasuredRecord
from ..plugins.plain_files import read_plain
from .folder import RunFolder, conductor, mended

_MODEL = "model.npz"
_CHECKPOINT = "checkpoint.npz"
ORIGIN = "model.json"
"""File with the origin of `model.npz` of a run that has no summary."""


class ModelOrigin(NamedTuple):
    """The origin of a run's `model.npz`."""

    source: Literal["final", "checkpoint", "recovered", "none"]
    """`final`: the server wrote the model at the end; `checkpoint`: the last checkpoint;
    `recovered`: from the server's durable state; `none`: the run has no model."""
    version: int | None = None
    """Version of the model; None without a model, or if the file cannot be read."""
    note: str = ""
    """A sentence on a model that the server did not write at the end; else empty."""

    def plain(self) -> dict[str, Any]:
        """Return the origin as JSON values, for the summary."""
        note = {"note": self.note} if self.note else {}
        return {"source": self.source, "version": self.version, **note}


def model_source(path: Path, summary: Mapping[str, Any] | None = None) -> str | None:
    """Return the source of the model of the run in the folder `path`, by its `summary` if it has
    one; None if the run goes on, or an older version has played it."""
    if summary is None and not (path / ORIGIN).is_file():
        # in virtual time a checkpoint is a `model.npz` from the first one on
        return "checkpoint" if (path / _MODEL).is_file() else None
    known = read_json(path / ORIGIN) if summary is None else summary.get("model")
    source = known.get("source") if isinstance(known, dict) else None
    return source if isinstance(source, str) else None


def gather(folder: RunFolder, last: Mapping[str, Any] | None = None) -> ModelOrigin:
    """Write `run.jsonl` from the server's log and the supervisors' reports.

    `last` replaces the facts of the log's last record, `stop`. The server's model becomes
    `model.npz`; if the server had no time to write one, its last checkpoint does. If the logs
    cannot be merged, both stay where they are. Versions that wait for a measurement stay for
    `emulate resume`. Returns the origin of `model.npz`.
    """
    forget_measured(folder)
    _merge(folder, last)
    origin = ModelOrigin("none")
    if model := _model(folder):
        origin = _origin(model)
        model.replace(folder.path / _MODEL)  # moved: a disk may be full
    kept = waiting(folder)
    for path in folder.server.iterdir() if kept else ():
        if path != kept[0].parent:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    if not kept:
        shutil.rmtree(folder.server, ignore_errors=True)
    folder.reports.unlink(missing_ok=True)
    return origin


def waiting(folder: RunFolder) -> list[Path]:
    """Return the files of the versions that wait for a measurement, the oldest version first."""
    from ..node.part.kept_versions import FOLDER, kept_versions  # late: as in `durable`

    return kept_versions(folder.server / FOLDER)


def unfinished_models(folder: RunFolder) -> list[int]:
    """Return the bytes of each model that is being written, of which a slow disk has taken more at
    each call; 0 for a file that nothing writes to."""
    from ..learning.models.saved_model import part_of  # not at the top: NumPy takes time

    server = folder.server
    models = server / _CHECKPOINT, server / _MODEL, folder.path / _MODEL
    return [_size(part_of(model)) for model in models]


def forget_measured(folder: RunFolder) -> None:
    """Remove the files of versions with a score in the reports, which a process that was killed has
    left."""
    kept = waiting(folder)
    if not kept or not folder.reports.is_file():
        return
    from ..node.part.kept_versions import version_file  # late: as in `durable`

    with folder.reports.open("rb") as lines:
        for text in lines:
            if not (b'"evaluation"' in text and text.endswith(b"\n")):
                continue
            if isinstance(record := parse(text), EvaluationRecord):
                version_file(kept[0].parent, record.version).unlink(missing_ok=True)


def unmeasured(folder: RunFolder) -> bool:
    """Return whether versions wait in `folder` for a measurement, and no more can come."""
    return bool(waiting(folder)) and not can_go_on(folder)


def to_measure(folder: RunFolder) -> str:
    """Return a sentence on the versions that `unmeasured` finds; empty without any."""
    if not unmeasured(folder):
        return ""
    count = len(waiting(folder))
    waits = "1 version of the model waits" if count == 1 else f"{count} versions of the model wait"
    return f"{waits} for a measurement: `emulate resume {folder.run}` measures the rest"


def reopen(folder: RunFolder) -> bool:
    """Give the server's folder the log of a run that was gathered before all of its versions were
    measured, so that `gather` can add the scores.

    Returns whether the log has the run's end.
    """
    log = folder.server / "run.jsonl"
    if not log.is_file():
        with replacing(log) as sink, folder.records.open("rb") as lines:
            sink.writelines(text for text in lines if b'"what":"unmeasured"' not in text)
    return StopRecord in _marks(log)


def known_before(folder: RunFolder) -> dict[str, Any]:
    """Return the keys of the summary of a run that a later measurement of its versions does not
    change, as far as they are known."""
    path = folder.path / "summary.json"
    if path.is_file():
        before = read_json(path)
        return {key: before[key] for key in ("fidelity", "model") if key in before}
    origin = folder.path / ORIGIN
    return {"model": read_json(origin)} if origin.is_file() else {}


def keep(folder: RunFolder, last: Mapping[str, Any] | None = None) -> ModelOrigin:
    """Write `run.jsonl` and `model.npz` as `gather` does, and leave the files of the nodes in place
    for `emulate resume`.

    A model that the server did not write itself comes from the server's durable state, and if that
    gives none, from the last checkpoint. Returns the origin of `model.npz`; its note says why there
    is no model at all, or why it is older than the log.
    """
    if (folder.server / _MODEL).is_file():
        _merge(folder, last)
        return _copy_model(folder)
    rescued = rescue(folder)
    with NamedTemporaryFile() as rest:
        rest.writelines(rescued.lines)
        rest.flush()
        _merge(folder, last, Path(rest.name))
    if not rescued.failure:
        note = f"model.npz is from the server's state on the disk: version {rescued.version:,}"
        return ModelOrigin("recovered", rescued.version, rescued.older or note)
    copied = _copy_model(folder, rescued.failure)
    return copied if copied.source != "none" else ModelOrigin("none", note=rescued.failure)


def recover(path: Path, tell: Callable[[str], object] = lambda note: None) -> bool:
    """Save the logs and the model of a run after its conductor was killed.

    `tell` is called with a sentence if the server did not write the model itself at the end. The
    origin of the model is written to `model.json`, as the run has no summary.

    Returns whether `emulate resume` can go on with the run: if the server's durable state is there,
    the files of the nodes stay, and the results are written anew by each call, since the run may
    have gone on meanwhile. Does nothing to a folder that is complete. Raises an EmulatorError if
    the logs are damaged or the folder cannot be written, or if another process gathers or resumes
    the run.
    """
    folder = RunFolder(path, path.name.rpartition("-")[2])
    complete = (path / "summary.json").is_file()
    changing = folder.server.is_dir() or folder.work.is_dir()
    if not changing or (complete and folder.records.is_file()):  # it may be on a read-only disk
        return complete and failed_resumably(folder)
    with mended(path):
        if (pid := conductor(path)) is not None:  # resumed since the caller has looked
            raise EmulatorError(f"{path.name} is running (process {pid})")
        return _recover(folder, tell)


def _recover(folder: RunFolder, tell: Callable[[str], object]) -> bool:
    """Do the work of `recover` while no other process changes the folder."""
    path = folder.path
    complete = (path / "summary.json").is_file()
    unfinished = (folder.server / "run.jsonl").is_file()
    dead = unfinished and durable(folder) and not complete
    if not complete:
        folder.discard_work()  # it holds secrets; and first, as a disk may be full
    if dead or (unfinished and not folder.records.is_file()):
        try:
            origin = keep(folder) if dead else gather(folder)
            if origin.note:
                tell(origin.note)
            if not complete:
                write_json(path / ORIGIN, origin.plain())
        except OSError as error:
            raise EmulatorError(f"{path} cannot be completed: {error}") from error
        except (KeyError, TypeError, ValueError) as error:
            raise EmulatorError(f"{path}: a log of its nodes is damaged: {error}") from error
    return dead or (complete and failed_resumably(folder))


def failed_resumably(folder: RunFolder) -> bool:
    """Return whether the run has failed, and its folder has kept the server's state."""
    failed = read_json(folder.path / "summary.json").get("outcome") == "failed"
    return failed and can_go_on(folder)


def can_go_on(folder: RunFolder) -> bool:
    """Return whether a run in containers that ended could go on from the server's state.

    It must have begun, and must not be over: a server that reached its end has nothing left to do.
    """
    log = folder.server / "run.jsonl"
    if not durable(folder) or not log.is_file():
        return False
    try:
        kinds = _marks(log)
    except ValueError:  # whoever merges the log says where
        return False
    return StartRecord in kinds and StopRecord not in kinds


def _marks(log: Path) -> set[type]:
    """Return the kinds of the records of the run's start and end in `log`, among others perhaps.

    Raises a ValueError if a line of such a kind is damaged.
    """
    with log.open("rb") as lines:
        # only lines that may be of these kinds are parsed: the log may have millions
        texts = [text for text in lines if b'"start"' in text or b'"stop"' in text]
    return {type(parse(text)) for text in texts if text.endswith(b"\n")}


def durable(folder: RunFolder) -> bool:
    """Return whether the server's durable state is in `folder`."""
    from ..node.durable.recovery import FOLDER  # late: imports the server, which takes long

    return (folder.server / FOLDER).is_dir()


def forget_results(folder: RunFolder) -> None:
    """Remove the results of a run that goes on: its next end makes new ones."""
    for name in ("summary.json", folder.records.name, _MODEL, ORIGIN):
        (folder.path / name).unlink(missing_ok=True)


def _merge(folder: RunFolder, last: Mapping[str, Any] | None = None, *rest: Path) -> None:
    """Write `run.jsonl`; `rest` are files with lines that the server's log lacks."""
    with replacing(folder.records) as sink, NamedTemporaryFile() as unmeasured:
        unmeasured.write(_unmeasured(folder))
        unmeasured.flush()
        logs = [folder.server / "run.jsonl", *rest, folder.reports, Path(unmeasured.name)]
        merge(logs, sink, last)


def _unmeasured(folder: RunFolder) -> bytes:
    """Return the line that names the versions that wait for a measurement; empty without any.

    Its time is that of the latest of them; files may be damaged.
    """
    kept = waiting(folder)
    if not kept:
        return b""
    from ..node.part.kept_versions import read_at, version_of  # late: as in `durable`

    return line(UnmeasuredRecord(max(map(read_at, kept)), [version_of(path) for path in kept]))


def put_in_order(records: Path) -> None:
    """Sort the log `records` by time, as `gather` does with the logs of containers."""
    with replacing(records) as sink:
        merge([records], sink)


def _model(folder: RunFolder) -> Path | None:
    """Return the file with the server's model, or else its last checkpoint, or else None."""
    models = (folder.server / name for name in (_MODEL, _CHECKPOINT))
    return next(filter(Path.is_file, models), None)


def _copy_model(folder: RunFolder, reason: str = "") -> ModelOrigin:
    """Copy the server's model to its place; return its origin, with the `reason` in its note."""
    model = _model(folder)
    if model is None:
        return ModelOrigin("none")
    with replacing(folder.path / _MODEL) as sink, model.open("rb") as source:
        shutil.copyfileobj(source, sink)
    return _origin(model, reason)


def _origin(model: Path, reason: str = "") -> ModelOrigin:
    """Return the origin of the file `model` of the server, with the `reason` in its note."""
    from ..learning.models.saved_model import read_version  # late: NumPy takes long to import

    version = read_version(model)
    if model.name != _CHECKPOINT:
        return ModelOrigin("final", version)
    number = "an unknown version" if version is None else f"version {version:,}"
    why = reason.removeprefix("no model.npz: ") or "the server wrote no model at the end"
    note = f"model.npz is the last checkpoint, of {number}: {why}"
    return ModelOrigin("checkpoint", version, note)


def _size(path: Path) -> int:
    """Return the bytes of the file at `path`; 0 without a file."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object from a file of a run's folder; raise an EmulatorError if it has none."""
    try:
        content = json.loads(read_plain(path))
    except OSError as error:
        raise EmulatorError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise EmulatorError(f"{path}: not JSON: {error}") from error
    if not isinstance(content, dict):
        raise EmulatorError(f"{path}: a {type(content).__name__} where a mapping was expected")
    return content


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write `content` to `path` in one step: a reader finds the old file or the whole new one."""
    text = json.dumps(content, indent=2, allow_nan=False).encode() + b"\n"
    with replacing(path) as sink:
        sink.write(text)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file that replaces `path` at the end of the block; an error leaves `path` alone."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.unlink(missing_ok=True)
        with part.open("xb") as sink:  # never through a link
            yield sink
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


class Rescued(NamedTuple):
    """Facts of the end of a run, from the server's state."""

    lines: list[bytes]
    """Last lines of the server's log that its end kept from `run.jsonl`."""
    failure: str = ""
    """The reason for which there is no model; empty if there is one."""
    version: int = 0
    """Version of the model, if there is one."""
    older: str = ""
    """Both versions, and the reason, if the model is older than the log; else empty."""


def rescue(folder: RunFolder) -> Rescued:
    """Write `model.npz` as the server's durable state has the model.

    The state stays as it is. The server of the run is made in this process, and takes the inputs
    since its newest state: about 1 s of work. The server stores an input before it logs what came
    of it, so the model may contain updates that are only in `Rescued.lines`.
    """
    try:
        return _write(folder, folder.path / "model.npz")
    except (EmulatorError, ImportError, LookupError, OSError, TypeError, ValueError) as error:
        return Rescued([], f"no model.npz: the server's state gives none: {error}")


def _write(folder: RunFolder, path: Path) -> Rescued:
    """Write the model of the run in `folder` to `path`."""
    # late: these take long to import, and few commands need them
    from ..core import assembly
    from ..core.sharding.connected_follower import ConnectedFollower
    from ..core.sharding.server_shards import LEADER
    from ..learning.learners.export import ready
    from ..learning.models import OwnModel, saved_model
    from ..learning.models.saved_model import SavedModel
    from ..node.durable.recovery import damage, last_state
    from ..node.durable.shards_on_disk import reports_of
    from ..node.part.server_role import from_plan
    from ..scenario import load
    from .data_split import split_data
    from .planning import plan

    scenario = load(folder.path / "scenario.yaml")
    training = scenario.training
    planned = plan(scenario, split_data(scenario).examples, contained=True)
    if planned.durability is None:
        raise EmulatorError("its scenario has no server.durability")
    initial = None if training.initial is None else Path(training.initial)
    needed = training.cut is not None or isinstance(training.network, OwnModel)
    graph = ready(training.network, scenario.seed) if needed else Path()
    reports = None
    if scenario.server.shards > 1:
        saved = None if initial is None else saved_model.read(initial, training.layout)
        numbers = range(LEADER + 1, scenario.server.shards)
        shards = {number: assembly.follower(planned, number, saved) for number in numbers}
        reports = reports_of(
            {
                number: (folder.shard(number), ConnectedFollower(shard, durable=True))
                for number, shard in shards.items()
            }
        )
    server, lines, logged = last_state(
        folder.server,
        planned,
        lambda log: from_plan(planned, log, initial, graph, reports=reports),
        reports,
    )
    state = server.model
    model = SavedModel(state.snapshot(), state.version, server.whole, state.optimizer_state())
    saved_model.write(path, model)
    if logged == state.version:
        return Rescued(lines, version=state.version)
    older = f"model.npz has version {state.version:,}, and the log's last is {logged:,}"
    reason = damage(folder.server) or ": the state on the disk ends there"
    return Rescued(lines, version=state.version, older=older + reason)
