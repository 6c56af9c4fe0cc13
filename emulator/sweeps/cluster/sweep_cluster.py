"""The cluster as a sweep sees it: connected, compared, supplied with data, and given points."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakValueDictionary

from ...errors import EmulatorError, HostError
from ...learning import datasets
from ...machine.cache import cache
from ...scenario import Scenario
from ..deciding_code import differences
from ..point_process import PLAYERS, Playing, PointTask, Process
from . import worker_tasks
from .remote_points import RemotePoints

MISSING = "a cluster needs Dask, which is not installed here: pip install 'edge-emulate[cluster]'"
PATIENCE = 10.0
"""Seconds in which a scheduler answers."""


@contextmanager
def connected(address: str) -> Iterator["Cluster"]:
    """Connect to the scheduler at `address`, for example `tcp://scheduler:8786`.

    Raises HostError if Dask is not installed here, if nothing answers, if the cluster has no
    workers, or if a worker has other code than this machine; it names each such worker.
    """
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        raise HostError(MISSING) from error
    try:
        client: Any = Client(  # type: ignore[no-untyped-call]
            address, timeout=PATIENCE, set_as_default=False, name="emulate"
        )
    except (OSError, TimeoutError, ValueError) as error:
        raise HostError(f"no Dask scheduler answers at {address}: {error}") from error
    with client:
        yield Cluster(client, address)


class Cluster:
    """Workers of a Dask cluster that play points, as many at a time as they have threads."""

    def __init__(self, client: Any, address: str) -> None:
        self._client = client
        self._topic = f"emulate-{client.id}"
        self._playing = WeakValueDictionary[str, RemotePoints]()
        self._supplied: dict[str, set[str]] = {}  # workers by each folder that they have
        self._compare(address)
        client.subscribe_topic(self._topic, self._hear)

    @property
    def cores(self) -> int:
        """Number of points that the workers play at the same time."""
        return sum(self._client.nthreads().values())

    def start(self, tasks: Sequence[PointTask]) -> Playing:
        """Have `tasks` played one after the other by a worker; points in containers play here."""
        if tasks[0].point.in_containers:
            return Process(tasks, PLAYERS["docker"])
        for task in tasks:
            self._supply(task.scenario)
        points = RemotePoints(tasks, self._client, self._topic)
        self._playing[points.key] = points
        return points

    def _hear(self, event: tuple[float, Mapping[str, Any]]) -> None:
        """Take the progress that a worker tells."""
        _, told = event
        if points := self._playing.get(told["key"]):
            points.tell(*told["progress"])

    def _compare(self, address: str) -> None:
        """Raise HostError unless all workers have the code and the packages of this machine."""
        found = self._client.run(worker_tasks.facts, on_error="return")
        if not found:
            raise HostError(f"the Dask scheduler at {address} has no workers: start some")
        here = worker_tasks.facts()
        mistakes = [
            f"the worker at {name} {_otherness(there, here)}"
            for name, there in sorted(found.items())
            if there != here
        ]
        if mistakes:
            raise HostError("\n".join(mistakes))

    def _supply(self, scenario: Scenario) -> None:
        """Send the data set of `scenario` to each machine that does not have it.

        Workers of one machine share its cache: what one of them has been sent, others find there.
        """
        place = datasets.folder(scenario.training.dataset)
        if not place.is_dir():
            return  # nothing learns
        folder = place.relative_to(cache()).as_posix()
        known = self._supplied.setdefault(folder, set())
        names = sorted(file.name for file in place.iterdir() if file.is_file())
        for name in sorted({*self._client.nthreads()} - known):
            (lacking,) = self._run(worker_tasks.missing, {folder: names}, at=name).values()
            if lacking:
                files = {each: (place / each).read_bytes() for each in names}
                self._run(worker_tasks.keep, folder, files, at=name)
            known.add(name)

    def _run(self, work: Any, *arguments: Any, at: str) -> dict[str, Any]:
        """Let the worker `at` do some `work`. Raises EmulatorError if it cannot."""
        try:
            found: dict[str, Any] = self._client.run(work, *arguments, workers=[at])
        except (OSError, ValueError) as error:
            raise EmulatorError(f"the worker at {at} takes no data: {error}") from error
        return found


def _otherness(there: Any, here: Mapping[str, str | None]) -> str:
    """Return, as the end of a sentence, in which way a worker is other than this machine."""
    if isinstance(there, ModuleNotFoundError):
        return f"does not have the package of this machine: {there}"
    if isinstance(there, BaseException):
        return f"cannot say what it has: {there}"
    return f"has {differences(here, there)}"
