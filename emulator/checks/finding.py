"""A finding of a check, and what checks look at: a scenario, its runtime and a host."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from shutil import disk_usage
from typing import Any, Literal, Self, TypeAlias

from ..costs.computing_times import known_time
from ..costs.host_dilation import with_dilation
from ..costs.host_limits import HostTables, tables_of
from ..errors import EmulatorError, ScenarioError, unplaced
from ..machine.host import Host
from ..runs.data_split import DataSplit, split_data
from ..scenario import Demand, Scenario, demand
from ..world.laws import Fixed, Uniform

Severity: TypeAlias = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Finding:
    """A line that a check says about a scenario."""

    severity: Severity
    """`error`: no run begins. `warning`: the run may fail, or its results mislead. `note`: the host
    may be too slow."""
    place: str
    """Key of the scenario, or resource of the host, that the line is about."""
    text: str
    """One line: the problem and the remedy."""
    raises: type[EmulatorError] = ScenarioError
    """Class of the exception by which an error refuses a run."""

    @classmethod
    def of(cls, error: EmulatorError) -> Self:
        """Return the finding of an `error` that begins with a place, or with none."""
        place = str(error).partition(":")[0]
        kind = ScenarioError if isinstance(error, ScenarioError) else type(error)
        return cls("error", "" if " " in place else place, str(error), kind)

    def error(self) -> EmulatorError:
        """Return the exception of this error, a ScenarioError with the place of its mistake."""
        if self.raises is ScenarioError:
            return ScenarioError(self.text, [unplaced(self.text, self.place)])
        return self.raises(self.text)

    @property
    def fatal(self) -> bool:
        return self.severity == "error"

    def plain(self) -> dict[str, Any]:
        """Return severity, place and text as JSON types."""
        return {key: value for key, value in asdict(self).items() if key != "raises"}

    def __str__(self) -> str:
        return self.text


def refusal(place: str, why: str, raises: type[EmulatorError] = ScenarioError) -> Finding:
    """Return an error at `place`."""
    return Finding("error", place, f"{place}: {why}", raises)


def warning(place: str, why: str) -> Finding:
    """Return a warning at `place`."""
    return Finding("warning", place, f"{place}: {why}")


def raised(action: Callable[[], object], *kinds: type[EmulatorError]) -> list[Finding]:
    """Call `action`; return an error of `kinds` that it raises as a finding, else an empty list."""
    try:
        action()
    except kinds as error:
        return [Finding.of(error)]
    return []


@dataclass(frozen=True)
class StepTime:
    """The mean time of a mini-batch on a whole core."""

    seconds: float
    source: str
    """Where `seconds` comes from, for example `virtual.step` or a calibration."""
    least: float
    """The least seconds that a mini-batch may take."""


@dataclass(frozen=True)
class HostCapacity:
    """The cores, the memory and the disk of the host."""

    cores: float
    memory: int
    """Bytes available at the moment, not bytes installed."""
    dilation: float = 1.0
    """Real seconds in an emulated second: a core does as much more in an emulated second."""
    disk: float = float("inf")
    """Bytes that are free where runs are written."""


class Situation:
    """A scenario, its runtime and a host. Each fact is found once, when a check asks for it."""

    def __init__(
        self,
        scenario: Scenario,
        on: str,
        host: Host | None = None,
        split_by: Callable[[Scenario], DataSplit | None] = split_data,
        runs: Path = Path(),
        tables: Sequence[HostTables] | None = None,
    ) -> None:
        """`split_by` makes the data split. `host` is by default this host. The folder `runs` is to
        hold the run; it need not exist. `tables` are those of all hosts, with the part of the run
        that each has; by default this host has all of it."""
        # the containers of a swarm's hosts are as those of one host that has what all have
        self.on, self.swarm = "docker" if on == "swarm" else on, on == "swarm"
        self._given, self._host, self._split_by = scenario, host, split_by
        self._runs, self._tables = runs, tables

    @property
    def situation(self) -> Self:
        """The whole, for checks that need a fact only sometimes."""
        return self

    @cached_property
    def host(self) -> Host:
        """The host, which is measured only for runs in containers."""
        return self._host or Host.here()

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario; for containers with the host's dilation in place of `auto`."""
        given = self._given
        return with_dilation(given, self.host.cores) if self.on == "docker" else given

    @property
    def cores(self) -> float:
        """Cores of the host."""
        return self.host.cores

    @cached_property
    def capacity(self) -> HostCapacity:
        """Cores, free memory and free disk space of the host."""
        runs = self._runs.absolute()
        there = next(folder for folder in (runs, *runs.parents) if folder.is_dir())
        host, free = self.host, disk_usage(there).free
        # the quotas at several hosts are compared with the cores of each
        cores = float("inf") if self._tables else host.cores
        return HostCapacity(cores, host.available, self.scenario.dilation, free)

    @cached_property
    def tables(self) -> Sequence[HostTables]:
        """The tables of each host that run out as a fleet grows, with its part of the run."""
        return [tables_of(self.scenario)] if self._tables is None else self._tables

    @cached_property
    def demand(self) -> Demand:
        """The resources that the containers of the run need."""
        return demand(self.scenario)

    @cached_property
    def step(self) -> StepTime | None:
        """Time of a mini-batch, from `virtual.step` in virtual time, or else this host's
        calibration; None: unknown."""
        scenario, assumed = self.scenario, self.on == "virtual"
        size, law = scenario.training.batch_size, scenario.virtual.step
        seconds = known_time(scenario, size, assumed=assumed)
        if seconds is None:
            return None
        if law is None or not assumed:
            return StepTime(seconds, "as calibrated on this host", seconds)
        match law:
            case Fixed(least) | Uniform((least, _)):
                return StepTime(seconds, "virtual.step", least)
        return StepTime(seconds, "virtual.step", 0.0)

    @property
    def works(self) -> bool:
        """Whether the run plays a workload in place of a training."""
        return self._given.workload is not None

    @property
    def trains(self) -> bool:
        """Whether the run trains, and needs data."""
        if self.scenario.workload:
            return False
        return self.on == "docker" or self.scenario.virtual.learner != "none"

    @cached_property
    def split(self) -> DataSplit | None:
        """The data split; None if the run needs no data. Raises DataError or ScenarioError."""
        return self._split_by(self.scenario) if self.trains else None
